package assembly

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Element is an element of a map that a text defines (.elem). No loader puts it there: it is in a
// section of its own, which [Contents] reads.
type Element struct {
	Map        string
	Key, Value []byte
}

// contentsSection has the elements: of each, name, key and value after their lengths in 32 bits.
const contentsSection = ".bpfrun.contents"

// Errors of elements.
var (
	ErrElement  = errors.New("want a number that fits, or hex: and the digits of all bytes")
	ErrContents = errors.New("the section " + contentsSection + " is damaged")
)

// maxContents bounds the bytes of a section of elements.
const maxContents = 1 << 20

// element reads .elem MAP KEY VALUE. The map is defined before.
func (s *source) element(name, key, value string) error {
	i := slices.IndexFunc(s.maps, func(m mapDef) bool { return m.name == name })
	if i < 0 {
		return ErrNoMap
	}
	if len(s.elements) >= maxElements {
		return ErrTooLong
	}
	e := Element{Map: name}
	var err error
	if e.Key, err = bytesOf(key, s.maps[i].key); err == nil {
		e.Value, err = bytesOf(value, s.maps[i].value)
	}
	s.elements = append(s.elements, e)
	return err
}

// bytesOf returns size bytes: a number in little endian, or hex digits.
func bytesOf(text string, size uint32) ([]byte, error) {
	if digits, ok := strings.CutPrefix(text, "hex:"); ok {
		b, err := hex.DecodeString(digits)
		if err != nil || len(b) != int(size) {
			return nil, fmt.Errorf("%w: %d bytes, not %s", ErrElement, size, text)
		}
		return b, nil
	}
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		var negative int64
		if negative, err = strconv.ParseInt(text, 0, 64); err != nil || size > 8 || size < 8 && negative < -1<<(8*size-1) {
			return nil, fmt.Errorf("%w: %s", ErrElement, text)
		}
		n = uint64(negative) & (1<<(8*size) - 1)
	}
	if size < 8 && n>>(8*size) != 0 || size > maxText {
		return nil, fmt.Errorf("%w: %s in %d bytes", ErrElement, text, size)
	}
	out := make([]byte, max(size, 8))
	binary.LittleEndian.PutUint64(out, n)
	return out[:size], nil
}

func encodeElements(list []Element) (out []byte) {
	for _, e := range list {
		for _, part := range [][]byte{[]byte(e.Map), e.Key, e.Value} {
			out = append(binary.LittleEndian.AppendUint32(out, uint32(len(part))), part...)
		}
	}
	return out
}

// Contents returns the elements of maps that an object of [Object] has, nil for objects of other
// makes.
func Contents(object []byte) ([]Element, error) {
	if !bytes.Contains(object, []byte(contentsSection)) {
		return nil, nil
	}
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return nil, err
	}
	section := f.Section(contentsSection)
	if section == nil {
		return nil, nil
	}
	if section.Size > maxContents {
		return nil, ErrContents
	}
	data, err := section.Data()
	if err != nil {
		return nil, err
	}
	next := func() ([]byte, error) {
		if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
			return nil, ErrContents
		}
		n := 4 + int(binary.LittleEndian.Uint32(data))
		part := data[4:n]
		data = data[n:]
		return part, nil
	}
	var out []Element
	for len(data) > 0 {
		var parts [3][]byte
		for i := range parts {
			if parts[i], err = next(); err != nil {
				return nil, err
			}
		}
		if len(out) >= maxElements {
			return nil, ErrContents
		}
		out = append(out, Element{string(parts[0]), parts[1], parts[2]})
	}
	return out, nil
}
