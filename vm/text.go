package vm

import (
	"slices"
	"sort"
)

// DefaultTextBase is the default address of program text: the module area of x86-64 kernels, in
// which BPF programs are placed.
const DefaultTextBase = 0xffffffffc0000000

// slotSize is the distance of two slots in text addresses.
const slotSize = 8

// Text is the address space of the program code of one machine: it assigns each image a range of
// addresses, so that function pointers are values that a program can hold. It is not safe for
// concurrent use.
type Text struct {
	base, next uint64
	images     []*Image // by address; removed ones stay, empty, until most are
	removed    int
}

// NewText starts an empty text area at base (0 = DefaultTextBase).
func NewText(base uint64) *Text {
	if base == 0 {
		base = DefaultTextBase
	}
	return &Text{base: base, next: base}
}

// add places an image of n slots.
func (x *Text) add(img *Image, n int) {
	img.textBase = x.next
	x.images = append(x.images, img)
	x.next += (uint64(n)*slotSize + 4095) &^ 4095
}

// replace puts an image of as many slots at the place of another; it returns false if that is not
// in x, or of another size.
func (x *Text) replace(old, img *Image, n int) bool {
	i, ok := x.index(old)
	if !ok || len(old.insns) != n {
		return false
	}
	img.textBase = old.textBase
	x.images[i] = img
	return true
}

// drop removes an image whose lowering failed; it is the last one, or in the place of another.
func (x *Text) drop(img, replaced *Image) {
	if i, ok := x.index(img); ok && replaced != nil && img.textBase == replaced.textBase {
		x.images[i] = replaced
		return
	}
	if n := len(x.images); n > 0 && x.images[n-1] == img {
		x.images = x.images[:n-1]
		x.next = img.textBase
	}
}

// Remove removes an image. Its addresses are not reused.
func (x *Text) Remove(img *Image) {
	i, ok := x.index(img)
	if !ok {
		return
	}
	x.images[i] = &Image{textBase: img.textBase}
	if x.removed++; x.removed > len(x.images)/2 {
		x.images = slices.DeleteFunc(x.images, func(i *Image) bool { return len(i.insns) == 0 })
		x.removed = 0
	}
}

// index returns the position of an image.
func (x *Text) index(img *Image) (int, bool) {
	i := sort.Search(len(x.images), func(i int) bool { return x.images[i].textBase >= img.textBase })
	return i, i < len(x.images) && x.images[i] == img
}

// Resolve returns the program and the slot at a text address.
func (x *Text) Resolve(addr uint64) (img *Image, pc int, ok bool) {
	i := sort.Search(len(x.images), func(i int) bool { return x.images[i].textBase > addr }) - 1
	if i < 0 {
		return nil, 0, false
	}
	img = x.images[i]
	off := addr - img.textBase
	if off%slotSize != 0 || off/slotSize >= uint64(len(img.insns)) {
		return nil, 0, false
	}
	return img, int(off / slotSize), true
}

// Range returns the addresses in use.
func (x *Text) Range() (base, end uint64) { return x.base, x.next }
