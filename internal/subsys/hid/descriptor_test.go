package hid

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDefaultDescriptorDeclaresItsReports(t *testing.T) {
	d, err := Parse(DefaultDescriptor(0))
	require.NoError(t, err)
	type report struct {
		t     ReportType
		id    uint8
		bytes int
	}
	var got []report
	for _, r := range d.Reports {
		got = append(got, report{r.Type, r.ID, r.Len()})
	}
	assert.Equal(t, []report{{InputReport, 1, 5}, {InputReport, 2, 9}, {OutputReport, 2, 2}, {FeatureReport, 3, 9}}, got)
	assert.Equal(t, 9, d.Longest())
	assert.Nil(t, d.Report(InputReport, []byte{3, 0}), "only a feature has the id 3")
	assert.Nil(t, d.Report(InputReport, nil))
}

func TestDefaultDescriptorOfALengthStillParses(t *testing.T) {
	for size := 1; size <= MaxDescriptor; size += 13 {
		if desc := DefaultDescriptor(size); desc != nil {
			require.Len(t, desc, size)
			_, err := Parse(desc)
			require.NoError(t, err, "%d bytes", size)
		} else {
			require.Less(t, size, 40)
		}
	}
	assert.Nil(t, DefaultDescriptor(MaxDescriptor+1))
}

func TestDescriptorsThatTheKernelRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		desc []byte
		at   int
	}{
		{"empty", nil, 0},
		{"item cut short", []byte{0x05}, 0},
		{"long item", []byte{0xfe, 0, 0}, 0},
		{"open collection", []byte{0xa1, 1}, 2},
		{"end without beginning", []byte{0xc0}, 0},
		{"report id 0", []byte{0x85, 0}, 0},
		{"report id 256", []byte{0x86, 0, 1}, 0},
		{"report size 257", []byte{0x76, 1, 1}, 0},
		{"report count", []byte{0x96, 1, 0x30}, 0},
		{"pop without push", []byte{0xb4}, 0},
		{"fifth push", []byte{0xa4, 0xa4, 0xa4, 0xa4, 0xa4}, 4},
		{"empty range", []byte{0x15, 5, 0x25, 4, 0x75, 8, 0x95, 1, 0x09, 1, 0x81, 2}, 10},
		{"report too long", []byte{0x76, 0, 1, 0x96, 0, 2, 0x81, 2}, 6},
		{"unknown global item", []byte{0xc4}, 0},
		{"nested delimiters", []byte{0xa9, 1, 0xa9, 1}, 2},
		{"open delimiter", []byte{0xa9, 1}, 2},
	} {
		_, err := Parse(c.desc)
		var e *DescriptorError
		require.ErrorAs(t, err, &e, c.name)
		assert.Equal(t, c.at, e.Offset, c.name)
	}
	for _, desc := range [][]byte{{0x76, 0, 1}, {0x96, 0, 0x30}, {0x85, 255}, {0xa4, 0xa4, 0xa4, 0xa4}, {0x0c}} {
		_, err := Parse(desc)
		assert.NoError(t, err, "% x", desc)
	}
}

func TestFieldsOfReports(t *testing.T) {
	d, err := Parse(DefaultDescriptor(0))
	require.NoError(t, err)
	r := d.ByID(InputReport, 1)
	data := make([]byte, r.Len())
	for name, v := range map[string]int64{"button2": 1, "x": -5, "0x00010038": 3} {
		require.NoError(t, r.Put(data, name, v))
	}
	assert.Equal(t, []byte{0, 2, 0xfb, 0, 3}, data)
	for name, want := range map[string]int64{"button1": 0, "button2": 1, "x": -5, "wheel": 3} {
		v, err := r.Get(data, name)
		require.NoError(t, err)
		assert.Equal(t, want, v, name)
	}
	var e *FieldError
	assert.ErrorAs(t, r.Put(data, "pressure", 1), &e)
	_, err = r.Get(data[:1], "wheel")
	assert.ErrorAs(t, err, &e)
}

func FuzzParse(f *testing.F) {
	f.Add(DefaultDescriptor(0))
	f.Add([]byte{0x17, 0, 0, 0, 0x80, 0x2b, 0xff, 0xff, 0xff, 0xff, 0x81, 2})
	f.Fuzz(func(t *testing.T, desc []byte) {
		d, err := Parse(desc)
		if err != nil {
			return
		}
		for _, r := range d.Reports {
			require.LessOrEqual(t, r.Len(), MaxBuffer)
			for i := range r.Fields {
				require.LessOrEqual(t, len(r.Fields[i].Usages), maxUsages)
			}
			d.Report(r.Type, bytes.Repeat([]byte{r.ID}, r.Len()))
		}
	})
}
