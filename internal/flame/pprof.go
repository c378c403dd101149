package flame

import (
	"compress/gzip"
	"encoding/binary"
	"io"
)

// WritePprof writes profiles for go tool pprof, with the same values. The format is profile.proto
// of github.com/google/pprof, whose package would cost every command half a millisecond before
// main.
func WritePprof(w io.Writer, profiles []Profile) error {
	e := pprofEncoder{strings: map[string]uint64{"": 0}, table: []string{""}, functions: map[[3]string]uint64{}}
	if len(profiles) > 0 {
		for _, v := range profiles[0].Values {
			e.out.message(1, e.valueType(v))
		}
		e.out.message(11, e.valueType(profiles[0].Values[0])) // the period's type
		e.out.number(12, 1)
		e.out.number(14, e.text(profiles[0].Values[0])) // the default
	}
	for i := range profiles {
		e.add(&profiles[i])
	}
	for _, s := range e.table {
		e.out.message(6, []byte(s))
	}
	z := gzip.NewWriter(w)
	if _, err := z.Write(e.out); err != nil {
		return err
	}
	return z.Close()
}

// pprofEncoder collects a Profile message.
type pprofEncoder struct {
	out       wire
	strings   map[string]uint64 // indices in table
	table     []string
	functions map[[3]string]uint64 // ids by program, function and file
	mappings  uint64
	locations uint64
}

// text returns the index of a string in the table.
func (e *pprofEncoder) text(s string) uint64 {
	i, ok := e.strings[s]
	if !ok {
		i = uint64(len(e.table))
		e.strings[s], e.table = i, append(e.table, s)
	}
	return i
}

// valueType encodes a ValueType that counts.
func (e *pprofEncoder) valueType(name string) (m wire) {
	m.number(1, e.text(name))
	m.number(2, e.text("count"))
	return m
}

// add adds a program's samples, with a Mapping of its own.
func (e *pprofEncoder) add(p *Profile) {
	e.mappings++
	mapping := e.mappings
	var m wire
	m.number(1, mapping)
	m.number(3, uint64(p.Insns)+1) // the limit of its addresses
	m.number(5, e.text(p.Program))
	for _, has := range []int{7, 8, 9} { // functions, file names, line numbers
		m.number(has, 1)
	}
	e.out.message(3, m)
	ids := map[int]uint64{}
	location := func(at Place) uint64 {
		id, ok := ids[at.Insn]
		if !ok {
			e.locations++
			id = e.locations
			ids[at.Insn] = id
			var line, l wire
			line.number(1, e.function(p.Program, at.Func, at.File, at.Line))
			line.number(2, uint64(at.Line))
			l.number(1, id)
			l.number(2, mapping)
			l.number(3, uint64(at.Insn)+1)
			l.message(4, line)
			e.out.message(4, l)
		}
		return id
	}
	p.Each(func(stack []Place, values []int) {
		var chain, counts, s wire
		for _, at := range stack {
			chain.varint(location(at))
		}
		for _, v := range values {
			counts.varint(uint64(v))
		}
		s.message(1, chain)
		s.message(2, counts)
		e.out.message(2, s)
	})
}

// function returns the id of a Function, which begins at the first line that is asked about.
func (e *pprofEncoder) function(program, name, file string, line int) uint64 {
	key := [3]string{program, name, file}
	id, ok := e.functions[key]
	if !ok {
		id = uint64(len(e.functions)) + 1
		e.functions[key] = id
		var f wire
		f.number(1, id)
		f.number(2, e.text(name))
		f.number(3, e.text(name))
		f.number(4, e.text(file))
		f.number(5, uint64(line))
		e.out.message(5, f)
	}
	return id
}

// wire is an encoded message of protocol buffers.
type wire []byte

func (w *wire) varint(v uint64) { *w = binary.AppendUvarint(*w, v) }

// number appends a field with a varint; 0 is the default and left out.
func (w *wire) number(field int, v uint64) {
	if v != 0 {
		w.varint(uint64(field) << 3)
		w.varint(v)
	}
}

// message appends a field with bytes: a message, a string or packed numbers.
func (w *wire) message(field int, b []byte) {
	const lengthDelimited = 2
	w.varint(uint64(field)<<3 | lengthDelimited)
	w.varint(uint64(len(b)))
	*w = append(*w, b...)
}
