package packet

import (
	"fmt"
	"strconv"
	"strings"
)

// cutAt is where [:N] cuts a packet: the length that remains, or if negative how many bytes are dropped from the end.
type cutAt struct {
	n       int
	dropped bool
}

// cutSuffix splits [:N] or [:-N] off the end of a text. before keeps the white space before it out.
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

// apply cuts a packet. One that is shorter than what is kept of it is an error: the author expects another packet.
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
