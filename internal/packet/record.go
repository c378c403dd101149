package packet

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// records reads the packets of a pcap file after the file header. Data is not copied if the buffer
// contains all of it.
type records struct {
	big   bool
	tick  int64 // unit of time stamps in nanoseconds
	link  linkType
	large []byte
	// window is what the buffer contains from its next byte on; used is how much of that the last
	// packet, and those before it, used. Only packets that the window ends in ask the buffer.
	window []byte
	used   int
}

// whole reports whether b begins with all of a packet.
func (r *records) whole(b []byte) bool {
	if len(b) < recordHeader {
		return false
	}
	length := binary.LittleEndian.Uint32(b[8:])
	if r.big {
		length = be.Uint32(b[8:])
	}
	return uint64(length) <= uint64(len(b)-recordHeader)
}

const (
	fileHeader   = 24
	linkTypeMask = 0x03ffffff // the bits above are the length of the frame check sequence
)

// newRecords reads the header of a file that begins with one of pcapMagics (draft-ietf-opsawg-pcap,
// section 4).
func newRecords(in *bufio.Reader) (*records, error) {
	var head [fileHeader]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, unexpected(err)
	}
	r := &records{big: head[0] == 0xa1, tick: 1000}
	if head[1] == 0x3c || head[2] == 0x3c {
		r.tick = 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if r.big {
		order = be
	}
	if major, minor := order.Uint16(head[4:]), order.Uint16(head[6:]); major != 2 || minor != 4 {
		return nil, fmt.Errorf("version %d.%d, want 2.4", major, minor)
	}
	r.link = linkType(order.Uint32(head[20:]) & linkTypeMask)
	return r, nil
}

const recordHeader = 16

// next reads a packet. It returns io.EOF if the file ends between two packets,
// [io.ErrUnexpectedEOF] if it ends within one.
func (r *records) next(in *bufio.Reader, c *Captured) error {
	head := r.window[r.used:]
	if !r.whole(head) {
		if _, err := in.Discard(r.used); err != nil { // discard the packets before
			return err
		}
		r.used, r.window = 0, nil
		var err error
		if head, err = in.Peek(recordHeader); err != nil {
			if err == io.EOF && len(head) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		r.window, _ = in.Peek(in.Buffered())
	}
	var sec, frac, length, wire uint32
	if r.big {
		sec, frac, length, wire = be.Uint32(head), be.Uint32(head[4:]), be.Uint32(head[8:]), be.Uint32(head[12:])
	} else {
		le := binary.LittleEndian
		sec, frac, length, wire = le.Uint32(head), le.Uint32(head[4:]), le.Uint32(head[8:]), le.Uint32(head[12:])
	}
	switch {
	case length > MaxSize:
		return fmt.Errorf("%d bytes, at most %d", length, MaxSize)
	case length > wire:
		return fmt.Errorf("%d bytes were captured of a packet of %d: not a packet", length, wire)
	}
	c.Time, c.Wire = time.Unix(int64(sec), int64(frac)*r.tick), int(wire)
	whole := recordHeader + int(length)
	if whole <= len(head) {
		c.Data = head[recordHeader:whole]
		r.used += whole
		return nil
	}
	if whole <= in.Size() {
		b, err := in.Peek(whole)
		if err != nil {
			return unexpected(err)
		}
		c.Data, r.used = b[recordHeader:], whole
		r.window, _ = in.Peek(in.Buffered())
		return nil
	}
	r.window = nil // the packet is larger than the buffer
	if _, err := in.Discard(recordHeader); err != nil {
		return unexpected(err)
	}
	if cap(r.large) < int(length) {
		r.large = make([]byte, length)
	}
	c.Data = r.large[:length]
	if _, err := io.ReadFull(in, c.Data); err != nil {
		return unexpected(err)
	}
	return nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
