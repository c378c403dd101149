package dap

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits on the client's input, in bytes.
const (
	maxMessage = 1 << 20 // a message
	maxHeader  = 256     // its header
)

// FrameError is input that violates the protocol's framing: the start of the next message is
// unknown, so the connection ends.
type FrameError struct{ Why string }

// Error reports the problem and the expected start of a message.
func (e *FrameError) Error() string {
	return e.Why + ` (a message of the Debug Adapter Protocol begins with "Content-Length: N", an empty line, and N bytes of JSON)`
}

// errTooLong: a header line exceeds its limit.
var errTooLong = errors.New("line too long")

// readLine reads a line terminated by CR LF and returns it without the terminator.
func readLine(r *bufio.Reader, most int) (string, error) {
	var line []byte
	for {
		b, err := r.ReadByte()
		if err != nil {
			if errors.Is(err, io.EOF) && len(line) > 0 {
				return "", io.ErrUnexpectedEOF
			}
			return "", err
		}
		if line = append(line, b); b == '\n' {
			break
		}
		if len(line) > most {
			return "", errTooLong
		}
	}
	return strings.TrimSuffix(string(line[:len(line)-1]), "\r"), nil
}

// readFrame reads the JSON of one message. It returns io.EOF at the end of the input between two
// messages, and a *[FrameError] for everything that is not a message.
func readFrame(r *bufio.Reader) ([]byte, error) {
	length, left := -1, maxHeader
	for first := true; ; first = false {
		line, err := readLine(r, left)
		switch {
		case errors.Is(err, io.EOF) && first:
			return nil, io.EOF
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, &FrameError{"the connection ended in the header of a message"}
		case errors.Is(err, errTooLong):
			return nil, &FrameError{fmt.Sprintf("the header of a message exceeds %d bytes", maxHeader)}
		case err != nil:
			return nil, err
		}
		if left -= len(line); left < 0 {
			return nil, &FrameError{fmt.Sprintf("the header of a message exceeds %d bytes", maxHeader)}
		}
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		switch {
		case !ok, !strings.EqualFold(name, "Content-Length") && !strings.EqualFold(name, "Content-Type"):
			return nil, &FrameError{fmt.Sprintf("%q is not a message header", line)}
		case strings.EqualFold(name, "Content-Type"):
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 31)
		if err != nil {
			return nil, &FrameError{fmt.Sprintf("%q is not a message length", strings.TrimSpace(value))}
		}
		length = int(n)
	}
	switch {
	case length < 0:
		return nil, &FrameError{"a message without Content-Length"}
	case length > maxMessage:
		return nil, &FrameError{fmt.Sprintf("a message of %d bytes; the limit is %d", length, maxMessage)}
	}
	if length <= r.Buffered() {
		data := make([]byte, length)
		_, err := io.ReadFull(r, data)
		return data, err
	}
	// The buffer grows with the received data, not with the announced length.
	data, err := io.ReadAll(io.LimitReader(r, int64(length)))
	if err != nil {
		return nil, err
	}
	if len(data) < length {
		return nil, &FrameError{fmt.Sprintf("the connection ended inside a message: %d of %d bytes arrived", len(data), length)}
	}
	return data, nil
}
