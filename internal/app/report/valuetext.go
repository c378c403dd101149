package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// valueText is a typed value as the terminal writes values: {packets = 1, bytes = 64}. Documents
// have numbers of 64 bits as hex digits, because not every reader of JSON has such numbers.
func valueText(v any) string {
	form, err := marshalForm(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	d := json.NewDecoder(bytes.NewReader(form))
	d.UseNumber()
	var b strings.Builder
	if err := writeValue(&b, d); err != nil {
		return strings.TrimSuffix(string(form), "\n")
	}
	return b.String()
}

// writeValue writes the next value. Objects keep the order of their members.
func writeValue(b *strings.Builder, d *json.Decoder) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case json.Delim:
		b.WriteString(t.String())
		for n := 0; d.More(); n++ {
			if n > 0 {
				b.WriteString(", ")
			}
			if t == '{' {
				name, err := d.Token()
				if err != nil {
					return err
				}
				b.WriteString(fmt.Sprint(name) + " = ")
			}
			if err := writeValue(b, d); err != nil {
				return err
			}
		}
		end, err := d.Token()
		if err != nil {
			return err
		}
		b.WriteString(fmt.Sprint(end))
	case string:
		b.WriteString(scalarText(t))
	case nil:
		b.WriteString("null")
	default:
		b.WriteString(fmt.Sprint(t))
	}
	return nil
}

// scalarText writes a string, or the number that it is in hex digits; addresses of the kernel stay
// as they are.
func scalarText(s string) string {
	if digits, ok := strings.CutPrefix(s, "0x"); ok {
		if n, err := strconv.ParseUint(digits, 16, 64); err == nil {
			if n < 1<<63 {
				return strconv.FormatUint(n, 10)
			}
			return s
		}
	}
	return strconv.Quote(s)
}
