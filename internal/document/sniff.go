package document

import (
	"bytes"
	"path"
	"strings"
)

// sniffLen is how much of a document decides on its type.
const sniffLen = 8 << 10

// magic is how files of a type that has no text form begin.
type magic struct {
	at     int
	prefix string
	is     string
}

func magics() []magic {
	return []magic{
		{0, "\x89PNG\r\n\x1a\n", "PNG image"},
		{0, "\xff\xd8\xff", "JPEG image"},
		{0, "GIF87a", "GIF image"}, {0, "GIF89a", "GIF image"},
		{8, "WEBP", "WebP image"}, {8, "WAVE", "WAV recording"}, {8, "AVI ", "AVI video"},
		{0, "II*\x00", "TIFF image"}, {0, "MM\x00*", "TIFF image"},
		{0, "\x00\x00\x01\x00", "icon"},
		{4, "ftypavif", "AVIF image"}, {4, "ftypheic", "HEIC image"}, {4, "ftyp", "MP4 video"},
		{0, "\x1aE\xdf\xa3", "Matroska or WebM video"},
		{0, "ID3", "MP3 recording"}, {0, "OggS", "Ogg recording"}, {0, "fLaC", "FLAC recording"},
		{0, "PK\x05\x06", "ZIP archive"}, {0, "\x1f\x8b", "gzip archive"}, {0, "BZh", "bzip2 archive"},
		{0, "\xfd7zXZ\x00", "xz archive"}, {0, "7z\xbc\xaf\x27\x1c", "7-Zip archive"},
		{0, "\x28\xb5\x2f\xfd", "Zstandard archive"}, {0, "Rar!\x1a\x07", "RAR archive"},
		{257, "ustar", "tar archive"},
		{0, "\x7fELF", "ELF program"}, {0, "\xcf\xfa\xed\xfe", "Mach-O program"}, {0, "\xca\xfe\xba\xbe", "Mach-O program or Java class"},
		{0, "\x00asm", "WebAssembly module"}, {0, "SQLite format 3\x00", "SQLite database"},
		{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "document of an old Office format"},
		{0, "wOFF", "font"}, {0, "wOF2", "font"}, {0, "OTTO", "font"}, {0, "\x00\x01\x00\x00\x00", "font"},
		{0, "GGUF", "GGUF model"}, {0, "{\\rtf", "RTF document"},
	}
}

// unsupported names the type of a document that has no text form, "" if it
// may have one.
func unsupported(name string, data []byte) string {
	if bytes.HasPrefix(data, []byte("PK\x03\x04")) {
		return zipType(name, data)
	}
	for _, m := range magics() {
		if len(data) >= m.at+len(m.prefix) && string(data[m.at:m.at+len(m.prefix)]) == m.prefix && likely(m, data) {
			return m.is
		}
	}
	if bytes.HasPrefix(data, []byte("MZ")) && bytes.IndexByte(head(data), 0) >= 0 {
		return "Windows program"
	}
	if bytes.HasPrefix(data, []byte("BM")) && bytes.IndexByte(head(data), 0) >= 0 {
		return "BMP image"
	}
	if bomOf(data) == "" && bytes.IndexByte(head(data), 0) >= 0 {
		return "binary file"
	}
	return ""
}

// likely guards the prefixes that ordinary text may begin with: a text does
// not hold the control characters that such a file has soon after them.
func likely(m magic, data []byte) bool {
	switch m.prefix {
	case "ID3", "BZh", "OTTO", "GGUF", "wOFF", "wOF2", "OggS", "fLaC":
		return bytes.ContainsFunc(head(data), func(r rune) bool { return r < 9 || r == '\uFFFD' })
	case "WEBP", "WAVE", "AVI ":
		return bytes.HasPrefix(data, []byte("RIFF"))
	case "ftyp", "ftypavif", "ftypheic", "ustar":
		return bytes.IndexByte(head(data), 0) >= 0
	}
	return true
}

// zipType tells the formats apart that are kept as ZIP archives.
func zipType(name string, data []byte) string {
	byExt := map[string]string{
		".docx": "Word document", ".xlsx": "Excel workbook", ".pptx": "PowerPoint presentation",
		".odt": "OpenDocument text", ".ods": "OpenDocument spreadsheet", ".odp": "OpenDocument presentation",
		".epub": "EPUB book", ".jar": "Java archive", ".apk": "Android package", ".whl": "Python wheel",
	}
	if t, ok := byExt[ext(name)]; ok {
		return t
	}
	for _, m := range []struct{ has, is string }{
		{"word/", "Word document"}, {"xl/", "Excel workbook"}, {"ppt/", "PowerPoint presentation"},
		{"application/epub+zip", "EPUB book"}, {"application/vnd.oasis", "OpenDocument document"},
	} {
		if bytes.Contains(head(data), []byte(m.has)) {
			return m.is
		}
	}
	return "ZIP archive"
}

// kindOf decides how a document is read: by its bytes where they say so, else
// by its media type, else by the ending of its name.
func kindOf(name, mediaType string, data []byte) string {
	if i := bytes.Index(data[:min(len(data), 1024)], []byte("%PDF-")); i >= 0 && len(bytes.TrimLeft(data[:i], "\xef\xbb\xbf \t\r\n\x00")) == 0 {
		return KindPDF
	}
	e := ext(name)
	switch e {
	case ".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd":
		return KindMarkdown
	case ".ipynb":
		return KindNotebook
	case ".html", ".htm", ".xhtml":
		return KindHTML
	case ".csv", ".tsv":
		return KindCSV
	}
	if _, ok := languages()[e]; ok {
		return KindSource
	}
	if base := strings.ToLower(path.Base(name)); base == "makefile" || base == "dockerfile" || base == "justfile" {
		return KindSource
	}
	switch mt, _, _ := strings.Cut(strings.ToLower(mediaType), ";"); strings.TrimSpace(mt) {
	case "text/html", "application/xhtml+xml":
		return KindHTML
	case "text/markdown", "text/x-markdown":
		return KindMarkdown
	case "text/csv", "text/tab-separated-values":
		return KindCSV
	case "application/json", "application/xml", "text/xml":
		return KindSource
	}
	if looksHTML(data) {
		return KindHTML
	}
	return KindText
}

// looksHTML says whether a document begins as an HTML page.
func looksHTML(data []byte) bool {
	h := bytes.ToLower(bytes.TrimLeft(head(data), "\xef\xbb\xbf \t\r\n"))
	if bytes.HasPrefix(h, []byte("<?xml")) {
		if i := bytes.Index(h, []byte("?>")); i >= 0 {
			h = bytes.TrimLeft(h[i+2:], " \t\r\n")
		}
	}
	for bytes.HasPrefix(h, []byte("<!--")) {
		i := bytes.Index(h, []byte("-->"))
		if i < 0 {
			return false
		}
		h = bytes.TrimLeft(h[i+3:], " \t\r\n")
	}
	for _, p := range []string{"<!doctype html", "<html", "<head>", "<body"} {
		if bytes.HasPrefix(h, []byte(p)) {
			return true
		}
	}
	return false
}

// languages maps the endings of source files to the names that code fences
// use.
func languages() map[string]string {
	return map[string]string{
		".go": "go", ".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript",
		".jsx": "jsx", ".ts": "typescript", ".tsx": "tsx", ".rs": "rust", ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp",
		".hpp": "cpp", ".java": "java", ".kt": "kotlin", ".kts": "kotlin", ".scala": "scala", ".swift": "swift", ".rb": "ruby",
		".php": "php", ".pl": "perl", ".lua": "lua", ".r": "r", ".jl": "julia", ".ex": "elixir", ".exs": "elixir",
		".erl": "erlang", ".hs": "haskell", ".ml": "ocaml", ".clj": "clojure", ".cs": "csharp", ".fs": "fsharp", ".dart": "dart",
		".zig": "zig", ".nim": "nim", ".sh": "bash", ".bash": "bash", ".zsh": "bash", ".fish": "fish", ".ps1": "powershell",
		".sql": "sql", ".json": "json", ".jsonl": "json", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".ini": "ini",
		".cfg": "ini", ".conf": "ini", ".service": "ini", ".xml": "xml", ".svg": "xml", ".css": "css", ".scss": "scss", ".less": "less",
		".vue": "vue", ".svelte": "svelte", ".proto": "protobuf", ".graphql": "graphql", ".tf": "hcl", ".hcl": "hcl", ".nix": "nix",
		".mk": "makefile", ".cmake": "cmake", ".dockerfile": "dockerfile", ".gradle": "groovy", ".groovy": "groovy", ".vim": "vim",
		".el": "elisp", ".lisp": "lisp", ".tex": "latex", ".diff": "diff", ".patch": "diff", ".mod": "",
	}
}

// language gives the fence's info word for a source file, "" if none is known.
func language(name string) string {
	switch strings.ToLower(path.Base(name)) {
	case "makefile":
		return "makefile"
	case "dockerfile":
		return "dockerfile"
	}
	return languages()[ext(name)]
}

// ext gives the ending of a file name or address, lower case, with its dot.
func ext(name string) string {
	if i := strings.IndexAny(name, "?#"); i >= 0 && strings.Contains(name, "://") {
		name = name[:i]
	}
	return strings.ToLower(path.Ext(path.Base(strings.ReplaceAll(name, "\\", "/"))))
}

func head(data []byte) []byte { return data[:min(len(data), sniffLen)] }
