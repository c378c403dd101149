package packet

import (
	"fmt"
	"strconv"
	"strings"
)

// cutAt is the N of [:N]: the remaining length in bytes, or if negative the number of bytes dropped
// from the end.
type cutAt struct {
	n       int
	dropped bool
}

// cutSuffix splits [:N] or [:-N] off the end of a text. before does not include white space before
// it.
func cutSuffix(text string) (before string, cut cutAt, ok bool) {
	inner, closed := strings.CutSuffix(strings.TrimRight(text, " \t\r\n"), "]")
	open := strings.LastIndexByte(inner, '[')
	if !closed || open < 0 {
		return text, cutAt{}, false
	}
	digits, colon := strings.CutPrefix(strings.TrimSpace(inner[open+1:]), ":")
	if !colon {
		return text, cutAt{}, false
	}
	digits = strings.TrimSpace(digits)
	digits, cut.dropped = strings.CutPrefix(digits, "-")
	n, err := strconv.ParseUint(digits, 0, 31)
	if err != nil {
		return text, cutAt{}, false
	}
	cut.n = int(n)
	return text[:open], cut, true
}

// apply truncates a packet. It is an error if the packet is shorter than N, because the author
// expects a longer one.
func (c cutAt) apply(p []byte) ([]byte, error) {
	if c.n > len(p) {
		if c.dropped {
			return nil, fmt.Errorf("[:-%d]: the packet has %d bytes", c.n, len(p))
		}
		return nil, fmt.Errorf("[:%d]: the packet has %d bytes (pad(%d) makes it longer)", c.n, len(p), c.n)
	}
	if c.dropped {
		return p[:len(p)-c.n], nil
	}
	return p[:c.n], nil
}
