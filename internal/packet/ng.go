package packet

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"time"
)

// The pcapng constants that are used here (draft-ietf-opsawg-pcapng, sections 4 and 3.5).
const (
	blockInterface = 1
	blockOldPacket = 2
	blockSimple    = 3
	blockEnhanced  = 6
	blockSection   = 0x0a0d0d0a

	byteOrderMagic = 0x1a2b3c4d

	optEnd           = 0
	optComment       = 1
	optSectionAppl   = 4
	optInterfaceName = 2
	optVerdict       = 7
	optTimeUnit      = 9
	optTimeOffset    = 14
)

const (
	blockFrame    = 12      // type, length, and the length again at the end
	maxInterfaces = 1 << 16 // per section; packet blocks use 32 bits for the interface, obsolete ones 16
	// maxPacketBlock limits the size of a block kept in memory: the largest packet, and options.
	maxPacketBlock = MaxSize + 1<<20
)

// ngInterface describes an interface of the current section.
type ngInterface struct {
	link    linkType
	snap    uint32 // snapshot length in bytes; 0: no limit
	unit    byte   // resolution of time stamps: 10^-n seconds, or 2^-n if the high bit is set
	seconds int64  // offset added to time stamps
}

// blocks reads the packets of a pcapng file. Data is not copied if the buffer contains the whole
// block.
type blocks struct {
	order      binary.ByteOrder
	interfaces []ngInterface
	large      []byte
	used       int // bytes of the buffer used by the last block
}

// next reads blocks up to the next packet. It returns io.EOF if the file ends between two blocks,
// [io.ErrUnexpectedEOF] if it ends within one.
func (b *blocks) next(in *bufio.Reader, c *Captured) (linkType, error) {
	for {
		kind, body, err := b.block(in)
		if err != nil {
			return 0, err
		}
		switch kind {
		case blockSection:
			b.interfaces = b.interfaces[:0]
		case blockInterface:
			err = b.addInterface(body)
		case blockEnhanced, blockOldPacket, blockSimple:
			return b.packet(kind, body, c)
		}
		if err != nil {
			return 0, err
		}
	}
}

// block reads one block and returns its body, or nil for kinds that are skipped.
func (b *blocks) block(in *bufio.Reader) (kind uint32, body []byte, err error) {
	if _, err := in.Discard(b.used); err != nil {
		return 0, nil, err
	}
	b.used = 0
	head, err := in.Peek(8)
	if err != nil {
		if err == io.EOF && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	if be.Uint32(head) == blockSection { // reads the same in both byte orders
		if err := b.begin(in); err != nil {
			return 0, nil, err
		}
		head, _ = in.Peek(8)
	}
	kind, length := b.order.Uint32(head), b.order.Uint32(head[4:])
	if length < blockFrame || length%4 != 0 {
		return 0, nil, fmt.Errorf("a block of %d bytes: want at least %d, a multiple of 4", length, blockFrame)
	}
	switch kind {
	case blockSection, blockInterface, blockEnhanced, blockOldPacket, blockSimple:
	default: // name resolution, statistics, secrets, custom blocks
		for left := int64(length); left > 0; {
			n, err := in.Discard(int(min(left, math.MaxInt32)))
			if left -= int64(n); err != nil {
				return 0, nil, unexpected(err)
			}
		}
		return kind, nil, nil
	}
	whole, err := b.whole(in, length)
	if err != nil {
		return 0, nil, err
	}
	if again := b.order.Uint32(whole[length-4:]); again != length {
		return 0, nil, fmt.Errorf("a block of %d bytes ends with the length %d", length, again)
	}
	return kind, whole[8 : length-4], nil
}

// begin determines the byte order of a section.
func (b *blocks) begin(in *bufio.Reader) error {
	head, err := in.Peek(16)
	if err != nil {
		return unexpected(err)
	}
	switch magic := head[8:12]; {
	case be.Uint32(magic) == byteOrderMagic:
		b.order = be
	case binary.LittleEndian.Uint32(magic) == byteOrderMagic:
		b.order = binary.LittleEndian
	default:
		return fmt.Errorf("a section begins with the byte order % x, want 1a2b3c4d", magic)
	}
	if major := b.order.Uint16(head[12:]); major != 1 {
		return fmt.Errorf("a section of version %d.%d, want 1.0", major, b.order.Uint16(head[14:]))
	}
	return nil
}

// whole returns all bytes of a block, valid until the next is read.
func (b *blocks) whole(in *bufio.Reader, length uint32) ([]byte, error) {
	if int64(length) <= int64(in.Size()) {
		data, err := in.Peek(int(length))
		if err != nil {
			return nil, unexpected(err)
		}
		b.used = int(length)
		return data, nil
	}
	if length > maxPacketBlock {
		return nil, fmt.Errorf("a block of %d bytes, at most %d", length, maxPacketBlock)
	}
	if cap(b.large) < int(length) {
		b.large = make([]byte, length)
	}
	data := b.large[:length]
	if _, err := io.ReadFull(in, data); err != nil {
		return nil, unexpected(err)
	}
	return data, nil
}

func (b *blocks) addInterface(body []byte) error {
	switch {
	case len(body) < 8:
		return fmt.Errorf("an interface of %d bytes, want at least 8", len(body))
	case len(b.interfaces) == maxInterfaces:
		return fmt.Errorf("a section with more than %d interfaces", maxInterfaces)
	}
	i := ngInterface{link: linkType(b.order.Uint16(body)), snap: b.order.Uint32(body[4:]), unit: 6}
	err := b.options(body[8:], func(code uint16, value []byte) {
		switch {
		case code == optTimeUnit && len(value) == 1:
			i.unit = value[0]
		case code == optTimeOffset && len(value) == 8:
			i.seconds = int64(b.order.Uint64(value))
		}
	})
	b.interfaces = append(b.interfaces, i)
	return err
}

// options calls f for every option.
func (b *blocks) options(list []byte, f func(code uint16, value []byte)) error {
	for len(list) > 0 {
		if len(list) < 4 {
			return fmt.Errorf("options end after %d bytes of one", len(list))
		}
		code, size := b.order.Uint16(list), int(b.order.Uint16(list[2:]))
		if code == optEnd {
			return nil
		}
		list = list[4:]
		if size > len(list) {
			return fmt.Errorf("an option of %d bytes in a block that has %d left", size, len(list))
		}
		f(code, list[:size])
		list = list[min((size+3)&^3, len(list)):]
	}
	return nil
}

// packet reads one of the three kinds of packet blocks.
func (b *blocks) packet(kind uint32, body []byte, c *Captured) (linkType, error) {
	fixed := map[uint32]int{blockEnhanced: 20, blockOldPacket: 20, blockSimple: 4}[kind]
	if len(body) < fixed {
		return 0, fmt.Errorf("a packet block of %d bytes, want at least %d", len(body)+blockFrame, fixed+blockFrame)
	}
	var id, length, wire uint32
	var stamp uint64
	switch kind {
	case blockEnhanced:
		id = b.order.Uint32(body)
	case blockOldPacket:
		id = uint32(b.order.Uint16(body))
	case blockSimple:
		wire = b.order.Uint32(body)
		length = min(wire, uint32(len(body)-fixed))
	}
	if kind != blockSimple {
		stamp = uint64(b.order.Uint32(body[4:]))<<32 | uint64(b.order.Uint32(body[8:]))
		length, wire = b.order.Uint32(body[12:]), b.order.Uint32(body[16:])
	}
	if int64(id) >= int64(len(b.interfaces)) {
		return 0, fmt.Errorf("a packet of interface %d in a section that has %d", id, len(b.interfaces))
	}
	from := &b.interfaces[id]
	if kind == blockSimple && from.snap > 0 {
		length = min(length, from.snap)
	}
	body = body[fixed:]
	switch {
	case length > MaxSize:
		return 0, fmt.Errorf("%d bytes, at most %d", length, MaxSize)
	case int64(length) > int64(len(body)):
		return 0, fmt.Errorf("a packet of %d bytes in a block that holds %d", length, len(body))
	}
	c.Data, c.Wire, c.Time, c.Comments = body[:length], int(wire), time.Unix(0, 0), nil
	if kind == blockSimple {
		return from.link, nil
	}
	c.Time = from.time(stamp)
	return from.link, b.options(body[min(int(length+3)&^3, len(body)):], func(code uint16, value []byte) {
		if code == optComment {
			c.Comments = append(c.Comments, string(value))
		}
	})
}

// time converts a time stamp.
func (i *ngInterface) time(stamp uint64) time.Time {
	const second = uint64(time.Second)
	if n := uint(i.unit & 0x7f); i.unit&0x80 != 0 {
		if n > 63 {
			return time.Unix(i.seconds, 0)
		}
		hi, lo := bits.Mul64(stamp&(1<<n-1), second)
		return time.Unix(i.seconds+int64(stamp>>n), int64(hi<<(64-n)|lo>>n))
	}
	unit := uint64(1) // time stamps per second
	for range i.unit {
		if unit > math.MaxUint64/10 {
			return time.Unix(i.seconds, 0) // the 64 bits hold less than two seconds
		}
		unit *= 10
	}
	sec, part := stamp/unit, stamp%unit
	if unit <= second {
		return time.Unix(i.seconds+int64(sec), int64(part*(second/unit)))
	}
	return time.Unix(i.seconds+int64(sec), int64(part/(unit/second)))
}

// pad appends zeros up to a multiple of 4 bytes.
func pad(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }

// appendOption appends an option in little-endian byte order. Values that are too long for an
// option are truncated.
func appendOption(b []byte, code uint16, value []byte) []byte {
	value = value[:min(len(value), math.MaxUint16)]
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
	return pad(append(b, value...))
}

// startBlock starts a block in buf; [endBlock] completes it.
func startBlock(buf []byte, kind uint32) []byte {
	return append(binary.LittleEndian.AppendUint32(buf[:0], kind), 0, 0, 0, 0)
}

func endBlock(b []byte) []byte {
	length := uint32(len(b) + 4)
	binary.LittleEndian.PutUint32(b[4:], length)
	return binary.LittleEndian.AppendUint32(b, length)
}

// ngHeader returns a section header and the only interface: Ethernet, time stamps in nanoseconds.
func ngHeader() []byte {
	le := binary.LittleEndian
	b := startBlock(nil, blockSection)
	b = le.AppendUint32(b, byteOrderMagic)
	b = le.AppendUint16(b, 1)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint64(b, math.MaxUint64) // section length not specified
	b = endBlock(appendOption(appendOption(b, optSectionAppl, []byte("bpfrun")), optEnd, nil))
	i := startBlock(nil, blockInterface)
	i = le.AppendUint16(i, uint16(linkEthernet))
	i = append(i, 0, 0)
	i = le.AppendUint32(i, 0) // packets are not truncated
	i = appendOption(i, optInterfaceName, []byte("bpfrun"))
	i = appendOption(i, optTimeUnit, []byte{9})
	return append(b, endBlock(appendOption(i, optEnd, nil))...)
}

// appendPacket writes an enhanced packet block to buf.
func appendPacket(buf []byte, at time.Time, data []byte, wire int, comments []string, v Verdict) []byte {
	le := binary.LittleEndian
	b := startBlock(buf, blockEnhanced)
	stamp := uint64(at.UnixNano())
	b = le.AppendUint32(b, 0)
	b = le.AppendUint32(b, uint32(stamp>>32))
	b = le.AppendUint32(b, uint32(stamp))
	b = le.AppendUint32(b, uint32(len(data)))
	b = le.AppendUint32(b, uint32(wire))
	b = pad(append(b, data...))
	options := len(b)
	for _, c := range comments {
		b = appendOption(b, optComment, []byte(c))
	}
	if v.Kind != NoVerdict {
		b = appendOption(b, optVerdict, le.AppendUint64([]byte{byte(v.Kind)}, uint64(v.Value)))
	}
	if len(b) > options {
		b = appendOption(b, optEnd, nil)
	}
	return endBlock(b)
}
