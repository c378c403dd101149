package net

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// The message of an sk_msg program (struct sk_msg) is a list of pieces. Programs see the bytes of
// the first one, or those they asked for. The pieces are contiguous here: no program can tell.

// mostPieces is MAX_MSG_FRAGS.
const mostPieces = 17

// lengths returns the lengths of the message's pieces.
func (p *Packet) lengths() ([]int, uapi.Errno) {
	if len(p.frags) > 0 {
		list := []int{p.Linear()}
		for _, f := range p.frags {
			list = append(list, f.size)
		}
		if errno := p.Pull(p.Len()); errno != 0 {
			return nil, errno
		}
		p.pieces = list
		return list, p.showFirst()
	}
	if p.pieces == nil {
		return []int{p.Len()}, 0
	}
	return slices.Clone(p.pieces), 0
}

// pieceAt returns the piece that contains an offset, and where it starts; the number of pieces and
// the message's length if none does.
func pieceAt(pieces []int, at int) (i, offset int) {
	for i, n := range pieces {
		if at < offset+n {
			return i, offset
		}
		offset += n
	}
	return len(pieces), offset
}

// show makes [from, to) of the message what the program sees.
func (p *Packet) show(from, to int) uapi.Errno {
	n, lo := p.Len(), p.data-uint64(p.before)
	p.data, p.end = lo+uint64(from), lo+uint64(to)
	p.meta, p.before, p.after = p.data, from, n-to
	return p.rebound()
}

// showFirst shows the first piece (sk_msg_compute_data_pointers).
func (p *Packet) showFirst() uapi.Errno {
	if len(p.pieces) == 0 {
		return p.show(0, 0)
	}
	return p.show(0, p.pieces[0])
}

// PullMessage implements bpf_msg_pull_data: the program sees [start, end) of the message.
func (p *Packet) PullMessage(start, end int) uapi.Errno {
	pieces, errno := p.lengths()
	if errno != 0 {
		return errno
	}
	first, offset := pieceAt(pieces, start)
	if end <= start || first == len(pieces) || end > p.Len() {
		return uapi.EINVAL
	}
	last := first
	for sum := offset + pieces[first]; sum < end; sum += pieces[last] {
		last++
	}
	sum := 0
	for _, n := range pieces[first : last+1] {
		sum += n
	}
	p.pieces = slices.Replace(pieces, first, last+1, sum)
	return p.show(start, end)
}

// PushMessage implements bpf_msg_push_data: n bytes are inserted at an offset. They are zero here;
// a kernel leaves what was in them.
func (p *Packet) PushMessage(start, n int) uapi.Errno {
	if n == 0 {
		return 0
	}
	pieces, errno := p.lengths()
	if errno != 0 {
		return errno
	}
	length := p.Len()
	if start > length {
		return uapi.EINVAL
	}
	if n > MaxPacket-length {
		return uapi.ENOMEM
	}
	i, offset := pieceAt(pieces, start)
	space := mostPieces - len(pieces)
	switch {
	case space == 0 || space == 1 && start != offset: // into a piece
		i = min(i, len(pieces)-1)
		pieces[i] += n
	case start == offset || i == len(pieces): // between two pieces
		pieces = slices.Insert(pieces, i, n)
	default:
		pieces = slices.Replace(pieces, i, i+1, start-offset, n, pieces[i]-(start-offset))
	}
	if errno := p.resizeMessage(start, n); errno != 0 {
		return errno
	}
	p.pieces = pieces
	return p.showFirst()
}

// PopMessage implements bpf_msg_pop_data: n bytes are removed at an offset.
func (p *Packet) PopMessage(start, n int) uapi.Errno {
	if n == 0 {
		return 0
	}
	pieces, errno := p.lengths()
	if errno != 0 {
		return errno
	}
	i, offset := pieceAt(pieces, start)
	if i == len(pieces) || start+n > p.Len() {
		return uapi.EINVAL
	}
	pop := n
	if a := start - offset; a != 0 {
		b := pieces[i] - pop - a
		switch {
		case b > 0 && len(pieces) < mostPieces:
			pieces = slices.Replace(pieces, i, i+1, a, b)
			pop = 0
		case b > 0:
			pieces[i], pop = a+b, 0
		default:
			pop -= pieces[i] - a
			pieces[i] = a
		}
		i++
	}
	for pop > 0 {
		if pop < pieces[i] {
			pieces[i] -= pop
			break
		}
		pop -= pieces[i]
		pieces = slices.Delete(pieces, i, i+1)
	}
	if errno := p.resizeMessage(start, -n); errno != 0 {
		return errno
	}
	p.pieces = pieces
	return p.showFirst()
}

// resizeMessage inserts or removes bytes of the whole message.
func (p *Packet) resizeMessage(at, n int) uapi.Errno {
	if errno := p.show(0, p.Len()); errno != 0 {
		return errno
	}
	return p.Resize(at, n)
}
