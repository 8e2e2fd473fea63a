// Package gguf reads the head of a GGUF file: what model it is, and whether
// the file is whole. It reads files that may be anything, before native code
// sees them.
package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// Header is what a GGUF file says of itself.
type Header struct {
	Version  uint32
	Arch     string // such as qwen2
	Name     string
	Window   int    // tokens; 0 if not stated
	Template string // chat template; empty if there is none
	Tensors  int
	Needs    int64 // bytes that the file must have at least, from its tensors
}

// Errors that tell what is wrong with a file.
var (
	ErrNotGGUF   = errors.New("it is not a GGUF file")
	ErrTruncated = errors.New("the file is cut off")
	ErrInvalid   = errors.New("its head is damaged")
)

// Limits of a head.
const (
	maxMembers  = 4096
	maxTensors  = 100_000
	maxString   = 4 << 20
	maxElements = 10_000_000
	maxHead     = 512 << 20
	maxDims     = 8
)

// ReadFile reads the head of a file, and compares what it says with the size
// of the file. A file that is too short is ErrTruncated.
func ReadFile(path string) (Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return Header{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Header{}, err
	}
	if !info.Mode().IsRegular() {
		return Header{}, fmt.Errorf("read %s: it is no regular file", path)
	}
	h, err := Read(f, info.Size())
	if err != nil {
		return h, fmt.Errorf("read %s: %w", path, err)
	}
	return h, nil
}

// Read reads a head from r, the start of a file of so many bytes.
func Read(r io.Reader, size int64) (Header, error) {
	d := &reader{r: bufio.NewReaderSize(io.LimitReader(r, maxHead), 1<<16)}
	h, err := d.header()
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return h, ErrTruncated
	case err != nil:
		return h, err
	case size < h.Needs:
		return h, fmt.Errorf("%w: it has %d bytes and needs %d", ErrTruncated, size, h.Needs)
	}
	return h, nil
}

// reader reads values and counts bytes.
type reader struct {
	r   *bufio.Reader
	pos int64
}

func (d *reader) bytes(n int) ([]byte, error) {
	b := make([]byte, n)
	got, err := io.ReadFull(d.r, b)
	d.pos += int64(got)
	return b, err
}

func (d *reader) skip(n int64) error {
	for n > 0 {
		part := int(min(n, 1<<20))
		got, err := d.r.Discard(part)
		d.pos += int64(got)
		if err != nil {
			return err
		}
		n -= int64(got)
	}
	return nil
}

func (d *reader) u32() (uint32, error) {
	b, err := d.bytes(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (d *reader) u64() (uint64, error) {
	b, err := d.bytes(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// count reads a number that may not exceed limit.
func (d *reader) count(limit uint64, what string) (int, error) {
	n, err := d.u64()
	if err != nil {
		return 0, err
	}
	if n > limit {
		return 0, fmt.Errorf("%w: %d %s", ErrInvalid, n, what)
	}
	return int(n), nil
}

func (d *reader) text() (string, error) {
	n, err := d.count(maxString, "bytes in a text")
	if err != nil {
		return "", err
	}
	b, err := d.bytes(n)
	return string(b), err
}

func (d *reader) header() (Header, error) {
	var h Header
	magic, err := d.bytes(4)
	if err != nil || string(magic) != "GGUF" {
		return h, ErrNotGGUF
	}
	if h.Version, err = d.u32(); err != nil {
		return h, err
	}
	if h.Version != 2 && h.Version != 3 {
		return h, fmt.Errorf("%w: version %d is not known", ErrInvalid, h.Version)
	}
	if h.Tensors, err = d.count(maxTensors, "tensors"); err != nil {
		return h, err
	}
	members, err := d.count(maxMembers, "members")
	if err != nil {
		return h, err
	}
	align := int64(32)
	windows := map[string]int{}
	for range members {
		key, err := d.text()
		if err != nil {
			return h, err
		}
		text, number, err := d.value()
		if err != nil {
			return h, err
		}
		switch key {
		case "general.architecture":
			h.Arch = text
		case "general.name":
			h.Name = text
		case "tokenizer.chat_template":
			h.Template = text
		case "general.alignment":
			if number < 1 || number > 1<<16 {
				return h, fmt.Errorf("%w: alignment %d", ErrInvalid, number)
			}
			align = number
		default:
			if len(key) > 15 && key[len(key)-15:] == ".context_length" && number > 0 && number < 1<<31 {
				windows[key] = int(number)
			}
		}
	}
	if h.Arch == "" {
		return h, fmt.Errorf("%w: it does not name an architecture", ErrInvalid)
	}
	h.Window = windows[h.Arch+".context_length"]
	end, err := d.tensors(h.Tensors)
	if err != nil {
		return h, err
	}
	h.Needs = (d.pos+align-1)/align*align + end
	return h, nil
}

// tensors reads the list of tensors and gives where the last one ends,
// counted from the start of the data.
func (d *reader) tensors(n int) (int64, error) {
	var end int64
	for range n {
		if _, err := d.text(); err != nil {
			return 0, err
		}
		dims, err := d.u32()
		if err != nil {
			return 0, err
		}
		if dims > maxDims {
			return 0, fmt.Errorf("%w: a tensor of %d dimensions", ErrInvalid, dims)
		}
		elements := int64(1)
		for range dims {
			size, err := d.count(1<<40, "elements in a dimension")
			if err != nil {
				return 0, err
			}
			if size > 0 && elements > math.MaxInt64/64/int64(size) {
				return 0, fmt.Errorf("%w: a tensor without end", ErrInvalid)
			}
			elements *= int64(size)
		}
		kind, err := d.u32()
		if err != nil {
			return 0, err
		}
		offset, err := d.count(1<<50, "bytes before a tensor")
		if err != nil {
			return 0, err
		}
		size := int64(0)
		if b, ok := blockOf(kind); ok {
			size = (elements + b.elements - 1) / b.elements * b.bytes
		}
		end = max(end, int64(offset)+size)
	}
	return end, nil
}

// block is how a type stores elements.
type block struct{ elements, bytes int64 }

// blockOf gives the block of a type of tensor. Of a type that is not known
// only the offset is checked.
func blockOf(kind uint32) (block, bool) {
	blocks := map[uint32]block{
		0: {1, 4}, 1: {1, 2}, 2: {32, 18}, 3: {32, 20}, 6: {32, 22}, 7: {32, 24}, 8: {32, 34}, 9: {32, 36},
		10: {256, 84}, 11: {256, 110}, 12: {256, 144}, 13: {256, 176}, 14: {256, 210}, 15: {256, 292},
		24: {1, 1}, 25: {1, 2}, 26: {1, 4}, 27: {1, 8}, 28: {1, 8}, 30: {1, 2},
	}
	b, ok := blocks[kind]
	return b, ok
}

// Types of values.
const (
	kindBool   = 7
	kindString = 8
	kindArray  = 9
)

// width gives how many bytes a plain value has; 0 for any other.
func width(kind uint32) int {
	switch kind {
	case 0, 1, kindBool:
		return 1
	case 2, 3:
		return 2
	case 4, 5, 6:
		return 4
	case 10, 11, 12:
		return 8
	}
	return 0
}

// value reads a value: a text, a whole number, or one that is passed over.
func (d *reader) value() (text string, number int64, err error) {
	kind, err := d.u32()
	if err != nil {
		return "", 0, err
	}
	switch kind {
	case kindString:
		text, err = d.text()
		return text, 0, err
	case kindArray:
		return "", 0, d.array()
	}
	w := width(kind)
	if w == 0 {
		return "", 0, fmt.Errorf("%w: a value of type %d", ErrInvalid, kind)
	}
	b, err := d.bytes(w)
	if err != nil {
		return "", 0, err
	}
	var wide [8]byte
	copy(wide[:], b)
	n := binary.LittleEndian.Uint64(wide[:])
	if kind == 6 || kind == 12 || n > math.MaxInt64 {
		return "", 0, nil // a fraction, or larger than any number that matters
	}
	return "", int64(n), nil
}

// array passes over a list.
func (d *reader) array() error {
	kind, err := d.u32()
	if err != nil {
		return err
	}
	n, err := d.count(maxElements, "elements in a list")
	if err != nil {
		return err
	}
	if w := width(kind); w > 0 {
		return d.skip(int64(n) * int64(w))
	}
	if kind != kindString {
		return fmt.Errorf("%w: a list of type %d", ErrInvalid, kind)
	}
	for range n {
		size, err := d.count(maxString, "bytes in a text")
		if err != nil {
			return err
		}
		if err := d.skip(int64(size)); err != nil {
			return err
		}
	}
	return nil
}
