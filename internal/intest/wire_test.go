package intest

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/maps"
)

// message makes a message of fields: a byte slice or text is a field of bytes, a uint64 fixed64, an
// int a varint.
func message(fields ...any) []byte {
	var b []byte
	for i := 0; i < len(fields); i += 2 {
		num := uint64(fields[i].(int))
		switch v := fields[i+1].(type) {
		case string:
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, num<<3|wireBytes), uint64(len(v))), v...)
		case []byte:
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, num<<3|wireBytes), uint64(len(v))), v...)
		case uint64:
			b = binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, num<<3|wireFixed64), v)
		case uint32:
			b = binary.LittleEndian.AppendUint32(binary.AppendUvarint(b, num<<3|wireFixed32), v)
		case int:
			b = binary.AppendUvarint(binary.AppendUvarint(b, num<<3|wireVarint), uint64(v))
		}
	}
	return b
}

func padded(b []byte) []byte { return append(b, make([]byte, 8192-len(b))...) }

func TestReportsAreDecoded(t *testing.T) {
	log := message(1, "file.c:1: \x00is %d and %d\x00", 2, uint64(1), 2, uint64(1<<63))
	for _, c := range []struct {
		name string
		data []byte
		want *Report
	}{
		{"empty", padded(nil), &Report{Rest: -1}},
		{"no map value", nil, &Report{Rest: -1}},
		{"one of each", padded(message(1, message(1, "a\x00", 2, 101, 3, log), 2, log)), &Report{
			Parts: []Part{{"a", Passed, 101, []Log{{"file.c:1: is %d and %d", []uint64{1, 1 << 63}}}}},
			Logs:  []Log{{"file.c:1: is %d and %d", []uint64{1, 1 << 63}}}, Rest: -1,
		}},
		{"old codes", padded(message(1, message(1, "a", 2, 1), 1, message(1, "b", 2, 2), 1, message(1, "c", 2, 3), 1, message(1, "d", 2, 0))), &Report{
			Parts: []Part{{"a", Passed, 1, nil}, {"b", Failed, 2, nil}, {"c", Skipped, 3, nil}, {"d", Errored, 0, nil}}, Rest: -1,
		}},
		{"new codes", padded(message(1, message(2, 100), 1, message(2, 102), 1, message(2, 103))), &Report{
			Parts: []Part{{"", Errored, 100, nil}, {"", Failed, 102, nil}, {"", Skipped, 103, nil}}, Rest: -1,
		}},
		{"no status, and one nobody knows", padded(message(1, message(1, "a"), 1, message(1, "b", 2, 9))), &Report{
			Parts: []Part{{"a", Errored, 0, nil}, {"b", Errored, 9, nil}}, Rest: -1,
		}},
		{"packed arguments", message(2, message(1, "x", 2, message(1, uint64(5))[1:])), &Report{Logs: []Log{{"x", []uint64{5}}}, Rest: -1}},
		{"fields of later versions", padded(message(7, "?", 8, 1, 9, uint64(1), 10, uint32(1), 2, message(1, "x", 5, 1))), &Report{Logs: []Log{{"x", nil}}, Rest: -1}},
		{"lengths with more bytes than they need", padded([]byte{1<<3 | wireBytes, 0x82, 0x00, 2 << 3, 101}), &Report{Parts: []Part{{"", Passed, 101, nil}}, Rest: -1}},
		{"something behind", append(message(1, message(2, 101)), 0xff, 0xff), &Report{Parts: []Part{{"", Passed, 101, nil}}, Rest: 4}},
		{"a field that does not fit", []byte{1<<3 | wireBytes, 9, 1}, &Report{Rest: 0}},
		{"groups", []byte{1<<3 | 3}, &Report{Rest: 0}},
	} {
		got, err := DecodeReport(c.data)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, got, c.name)
	}
}

func TestTornReportsAreErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"name", message(1, []byte{1<<3 | wireBytes, 5, 'a'})},
		{"status", message(1, []byte{2 << 3, 0x80})},
		{"log of a part", message(1, message(3, []byte{1<<3 | wireBytes, 5}))},
		{"log", message(2, []byte{2<<3 | wireFixed64, 1, 2})},
		{"packed arguments", message(2, message(2, "1234567"))},
		{"field 0", message(1, []byte{0})},
	} {
		_, err := DecodeReport(padded(c.data))
		assert.ErrorContains(t, err, resultMap, c.name)
	}
}

func FuzzDecodeReport(f *testing.F) {
	f.Add(padded(message(1, message(1, "a\x00", 2, 101, 3, message(1, "%d %s", 2, uint64(1))), 2, message(1, "x")))[:64])
	f.Add([]byte{1<<3 | wireBytes, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, _ := DecodeReport(b)
		require.NotNil(t, r)
		n := len(r.Logs)
		for _, p := range r.Parts {
			n += len(p.Logs)
			for _, l := range p.Logs {
				l.text(func(uint64) (string, bool) { return "", false })
			}
		}
		require.LessOrEqual(t, n+len(r.Parts), len(b))
	})
}

func TestLogsAreFormatted(t *testing.T) {
	str := func(addr uint64) (string, bool) { return "text", addr == 1 }
	for _, c := range []struct {
		format string
		args   []uint64
		want   string
	}{
		{"plain\n", nil, "plain"},
		{"%d %i %u", []uint64{0xffffffff, 7, 0xffffffff}, "-1 7 4294967295"},
		{"%hhd %hd %hu %hhx", []uint64{0xff, 0xffff, 0xffff, 0x1ff}, "-1 -1 65535 ff"},
		{"%ld %lld %lu %llx %zu %jd", []uint64{1<<64 - 1, 1<<64 - 2, 1<<64 - 1, 1 << 40, 3, 4}, "-1 -2 18446744073709551615 10000000000 3 4"},
		{"%x %X %#x %#X %#o %o %#x", []uint64{255, 255, 255, 255, 8, 8, 0}, "ff FF 0xff 0XFF 010 10 0"},
		{"%p %c %%", []uint64{0xffff888000000000, 'A'}, "0xffff888000000000 A %"},
		{"%5d|%-5d|%05d|%+d|% d|%08x|%-4s|%6s|", []uint64{1, 2, ^uint64(2), 4, 5, 0xbeef, 1, 1}, "    1|2    |-0003|+4| 5|0000beef|text|  text|"},
		{"%s and %s", []uint64{1, 2}, "text and 0x2"},
		{"%d %d", []uint64{1}, "1 %!d(no argument)"},
		{"%y %", []uint64{1}, "%!(y) %!() %!(more arguments: 0x1)"},
		{"%hhhhd", []uint64{1}, "%!(hhhhd) %!(more arguments: 0x1)"},
		{"%99999999999999999999d", []uint64{1}, ""},
	} {
		got := Log{c.format, c.args}.text(str)
		if c.want == "" {
			assert.Len(t, got, maxWidth, c.format)
			continue
		}
		assert.Equal(t, c.want, got, c.format)
	}
}

func TestWhatIsNoReportIsAMistake(t *testing.T) {
	r, res := run(t, "intest_xdp.o", Options{})
	first := res[r.Tests()[0].Name]
	require.Equal(t, Passed, first.Status)
	m, ok := r.m.MapByName(resultMap)
	require.True(t, ok)
	for text, want := range map[string]Status{"\xff\xff\xff": Errored, "\x0f": Errored, "": Unknown, "\x00\x00\x01": Unknown} {
		value := make([]byte, maps.UserValueSize(m))
		copy(value, text)
		require.Zero(t, maps.UserUpdate(m, make([]byte, m.Spec().KeySize), value, 0))
		var got Result
		r.report(&got)
		assert.Equal(t, want, got.Status, "% x", text)
		if text != "" && want == Unknown {
			assert.Equal(t, []string{"(suite_result_map holds something else from byte 0 on)"}, got.Logs)
		}
	}
}
