package hid

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// usageNames names usages that reports often have (HID Usage Tables); all others are written
// 0xPPPPUUUU.
var usageNames = sync.OnceValue(func() map[string]uint32 {
	return map[string]uint32{
		"x": 0x10030, "y": 0x10031, "z": 0x10032, "rx": 0x10033, "ry": 0x10034, "rz": 0x10035, "slider": 0x10036, "dial": 0x10037, "wheel": 0x10038, "hat": 0x10039,
		"pressure": 0xd0030, "in_range": 0xd0032, "barrel": 0xd0044, "tip": 0xd0042, "eraser": 0xd0045, "invert": 0xd003c, "tilt_x": 0xd003d, "tilt_y": 0xd003e,
		"barrel2": 0xd005a, "pan": 0xc0238,
	}
})

// buttonPage and keyPage are usage pages whose usages are numbers: button1, key4.
const buttonPage, keyPage = 9 << 16, 7 << 16

// Usage returns the usage with a name: "x", "button1", "key4", "0x00010030".
func Usage(name string) (uint32, bool) {
	if u, ok := usageNames()[name]; ok {
		return u, true
	}
	for prefix, page := range map[string]uint32{"button": buttonPage, "key": keyPage} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			n, err := strconv.ParseUint(rest, 10, 16)
			return page | uint32(n), err == nil
		}
	}
	if rest, ok := strings.CutPrefix(name, "0x"); ok {
		n, err := strconv.ParseUint(rest, 16, 32)
		return uint32(n), err == nil
	}
	return 0, false
}

// FieldError is a field that a report does not have.
type FieldError struct {
	Report *Report
	Name   string
}

// Error names the field and the report.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%v report %d has no field %s", e.Report.Type, e.Report.ID, e.Name)
}

// place returns where the value of a usage is: the first bit, counted from the report's beginning,
// and its field.
func (r *Report) place(name string) (bit int, f *Field, ok bool) {
	u, known := Usage(name)
	if !known {
		return 0, nil, false
	}
	start := 0
	if r.ID != 0 {
		start = 8
	}
	for i := range r.Fields {
		f := &r.Fields[i]
		at := slices.Index(f.Usages, u)
		if at >= 0 && f.Variable && at < f.Count && f.Size > 0 && f.Size <= 32 {
			return start + f.Offset + at*f.Size, f, true
		}
	}
	return 0, nil, false
}

// Put stores the value of a usage in a report. The error is a [*FieldError].
func (r *Report) Put(data []byte, name string, v int64) error {
	bit, f, ok := r.place(name)
	if !ok {
		return &FieldError{r, name}
	}
	for i := range f.Size {
		at := bit + i
		if at/8 >= len(data) {
			return &FieldError{r, name}
		}
		data[at/8] &^= 1 << (at % 8)
		data[at/8] |= byte(v>>i&1) << (at % 8)
	}
	return nil
}

// Get returns the value of a usage in a report. The error is a [*FieldError].
func (r *Report) Get(data []byte, name string) (int64, error) {
	bit, f, ok := r.place(name)
	if !ok || (bit+f.Size+7)/8 > len(data) {
		return 0, &FieldError{r, name}
	}
	v := int64(0)
	for i := range f.Size {
		at := bit + i
		v |= int64(data[at/8]>>(at%8)&1) << i
	}
	if f.Min < 0 && v>>(f.Size-1)&1 != 0 {
		v -= 1 << f.Size
	}
	return v, nil
}
