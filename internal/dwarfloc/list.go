package dwarfloc

// Kinds of entries in .debug_loclists (DWARF 5 section 7.7.3).
const (
	lleEnd          = 0
	lleBaseAddressx = 1
	lleStartxEndx   = 2
	lleStartxLength = 3
	lleOffsetPair   = 4
	lleDefault      = 5
	lleBaseAddress  = 6
	lleStartEnd     = 7
	lleStartLength  = 8
	lleGNUViewPair  = 9
)

// Entry is an entry of a location list: an expression that holds from Low up to High.
type Entry struct {
	Low, High uint64
	// Default: the expression holds where no other entry does.
	Default bool
	Expr    []byte
}

// ListAt returns the offset of a location list from its index (DW_FORM_loclistx).
func (u *Unit) ListAt(section []byte, index uint64) (uint64, error) {
	size, n := uint64(u.OffSize), uint64(len(section))
	if size == 0 || u.ListBase > n || index >= (n-u.ListBase)/size {
		return 0, ErrMalformed
	}
	r := reader{unit: u, b: section[u.ListBase+index*size:]}
	off, err := r.fixed(u.OffSize)
	return u.ListBase + off, err
}

// List calls visit for each entry of the list at an offset of .debug_loclists, or of .debug_loc for
// units before DWARF 5, until visit returns false. It returns the number of bytes read. The error
// is [ErrMalformed].
func (u *Unit) List(section []byte, off uint64, visit func(Entry) bool) (read int, err error) {
	if off > uint64(len(section)) {
		return 0, ErrMalformed
	}
	r := reader{unit: u, b: section[off:]}
	next := r.entry
	if u.Version < 5 {
		next = r.oldEntry
	}
	base := u.Base
	for {
		e, kind, err := next(&base)
		if err != nil || kind == end || kind == location && !visit(e) {
			return len(section) - int(off) - len(r.b), err
		}
	}
}

// entryKind tells locations from the entries that serve the list itself.
type entryKind uint8

const (
	end entryKind = iota
	location
	other
)

// oldEntry reads an entry of .debug_loc.
func (r *reader) oldEntry(base *uint64) (e Entry, kind entryKind, err error) {
	if e.Low, err = r.address(); err != nil {
		return e, end, err
	}
	if e.High, err = r.address(); err != nil {
		return e, end, err
	}
	switch {
	case e.Low == 0 && e.High == 0:
		return e, end, nil
	case e.Low == ^uint64(0)>>(64-8*uint(r.unit.AddrSize)):
		*base = e.High
		return e, other, nil
	}
	e.Low += *base
	e.High += *base
	n, err := r.fixed(2)
	if err == nil {
		e.Expr, err = r.take(n)
	}
	return e, location, err
}

// entry reads an entry of .debug_loclists.
func (r *reader) entry(base *uint64) (e Entry, kind entryKind, err error) {
	code, err := r.fixed(1)
	if err != nil {
		return e, end, err
	}
	switch code {
	case lleEnd:
		return e, end, nil
	case lleBaseAddressx:
		*base, err = r.indexed()
		return e, other, err
	case lleBaseAddress:
		*base, err = r.address()
		return e, other, err
	case lleGNUViewPair:
		if _, err = r.uleb(); err == nil {
			_, err = r.uleb()
		}
		return e, other, err
	case lleStartxEndx:
		e.Low, e.High, err = pair(r.indexed, r.indexed)
	case lleStartxLength:
		e.Low, e.High, err = pair(r.indexed, r.uleb)
		e.High += e.Low
	case lleOffsetPair:
		e.Low, e.High, err = pair(r.uleb, r.uleb)
		e.Low += *base
		e.High += *base
	case lleDefault:
		e.Default = true
	case lleStartEnd:
		e.Low, e.High, err = pair(r.address, r.address)
	case lleStartLength:
		e.Low, e.High, err = pair(r.address, r.uleb)
		e.High += e.Low
	default:
		return e, end, ErrMalformed
	}
	if err != nil {
		return e, end, err
	}
	n, err := r.uleb()
	if err == nil {
		e.Expr, err = r.take(n)
	}
	return e, location, err
}

// indexed reads an index and returns its address.
func (r *reader) indexed() (uint64, error) {
	i, err := r.uleb()
	if err != nil {
		return 0, err
	}
	return r.unit.Address(i)
}

func pair(first, second func() (uint64, error)) (a, b uint64, err error) {
	if a, err = first(); err == nil {
		b, err = second()
	}
	return a, b, err
}
