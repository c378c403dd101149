package report

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/subsys/sockmap"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// Sockets are what became of the bytes of sockets in sockmaps.
type Sockets struct {
	// Run is the name of the scenario's run.
	Run string `json:"run,omitempty"`
	// Sends are the results of the calls of sendmsg in order: a number of bytes, or a negative
	// error.
	Sends   []int         `json:"sends"`
	Sockets []SocketBytes `json:"sockets"`
}

// SocketBytes are one socket's bytes. Received is what user space can read, Sent what left the
// socket, both as hex digits.
type SocketBytes struct {
	Name     string `json:"name"`
	Received string `json:"received"`
	Sent     string `json:"sent"`
	Dropped  int    `json:"dropped"`
	// Waiting are bytes of an incomplete message, of a corked one, or behind a parser that failed.
	Waiting int `json:"waiting"`
	// Messages are the lengths of the messages that the parser cut.
	Messages []int `json:"messages,omitempty"`
	// Error is the error that the parser caused, such as EPROTO.
	Error string `json:"error,omitempty"`

	received, sent []byte
}

// AddSockets adds what became of the bytes of sockets.
func (d *RunDocument) AddSockets(run string, sends []int, results []sockmap.Result) {
	out := Sockets{Run: run, Sends: append([]int{}, sends...), Sockets: []SocketBytes{}}
	for _, r := range results {
		s := SocketBytes{Name: r.Name, Received: hex.EncodeToString(r.Received), Sent: hex.EncodeToString(r.Sent), Dropped: r.Dropped, Waiting: r.Waiting, Messages: r.Messages, received: r.Received, sent: r.Sent}
		if r.Err != 0 {
			s.Error = uapi.Errno(-r.Err).Error()
		}
		out.Sockets = append(out.Sockets, s)
	}
	d.Sockets = append(d.Sockets, out)
}

// write writes a table of the sockets that had bytes.
func (t *Sockets) write(b *strings.Builder, st style) {
	visible.Fprintf(b, "\n%s\n", st.bold(t.Run))
	rows := [][]cell{}
	row := func(texts ...string) {
		var cells []cell
		for _, t := range texts {
			cells = append(cells, cell{t, func(s string) string { return s }})
		}
		rows = append(rows, cells)
	}
	row("SOCKET", "RECEIVED", "SENT", "DROPPED", "WAITING", "ERROR")
	for _, s := range t.Sockets {
		row(s.Name, someBytes(s.received), someBytes(s.sent), strconv.Itoa(s.Dropped), strconv.Itoa(s.Waiting), s.Error)
	}
	writeAligned(b, rows)
}

// someBytes shows bytes of a stream: their number and the first of them.
func someBytes(p []byte) string {
	const most = 24
	switch {
	case len(p) == 0:
		return "-"
	case len(p) <= most:
		return strconv.Quote(string(p))
	}
	return fmt.Sprintf("%s... (%d bytes)", strconv.Quote(string(p[:most])), len(p))
}
