package loader

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
)

// maxConfig limits the size of a configuration in bytes; the kernel's own has less than 1 MiB.
const maxConfig = 64 << 20

// ParseKconfig parses a kernel configuration: lines NAME=VALUE as in .config, /boot/config-* or,
// with gzip, /proc/config.gz. As in libbpf, the first value of a name wins, a CONFIG_ line without
// a value is an error, and all other lines are skipped.
func ParseKconfig(r io.Reader) (map[string]string, error) {
	in := bufio.NewReader(r)
	r = in
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		r = z
	}
	values := map[string]string{}
	s := bufio.NewScanner(io.LimitReader(r, maxConfig))
	s.Buffer(nil, 1<<20)
	for n := 1; s.Scan(); n++ {
		line := s.Text()
		if !strings.HasPrefix(line, prefixKcfg) {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || value == "" {
			return nil, fmt.Errorf("line %d: %s: want NAME=VALUE", n, trimText(line))
		}
		if _, seen := values[name]; !seen {
			values[name] = value
		}
	}
	return values, s.Err()
}
