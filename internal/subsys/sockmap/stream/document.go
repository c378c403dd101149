package stream

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/bpfrun/bpfrun/internal/subsys/show"
	"github.com/bpfrun/bpfrun/internal/uapi"
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

// Document returns what became of the bytes, for a report.
func (m *Moved) Document(run string, _ func(error) *show.Error) show.Document {
	out := &Sockets{Run: run, Sends: append([]int{}, m.Sends...), Sockets: []SocketBytes{}}
	for _, r := range m.Sockets {
		s := SocketBytes{Name: r.Name, Received: hex.EncodeToString(r.Received), Sent: hex.EncodeToString(r.Sent), Dropped: r.Dropped, Waiting: r.Waiting, Messages: r.Messages, received: r.Received, sent: r.Sent}
		if r.Err != 0 {
			s.Error = uapi.Errno(-r.Err).Error()
		}
		out.Sockets = append(out.Sockets, s)
	}
	return out
}

// Program implements [show.Document]: programs of sockets are listed like others.
func (s *Sockets) Program(string) (ran, known bool) { return false, false }

// Page implements [show.Document].
func (s *Sockets) Page() func(show.Page) { return nil }

// Text writes a table of the sockets that had bytes.
func (s *Sockets) Text(t show.Text) {
	t.Printf("\n%s\n", t.Bold(s.Run))
	rows := [][]string{{"SOCKET", "RECEIVED", "SENT", "DROPPED", "WAITING", "ERROR"}}
	for _, x := range s.Sockets {
		rows = append(rows, []string{x.Name, someBytes(x.received), someBytes(x.sent), strconv.Itoa(x.Dropped), strconv.Itoa(x.Waiting), x.Error})
	}
	t.Table(rows)
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
