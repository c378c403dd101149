package fromdwarf

import (
	"bytes"
	"debug/dwarf"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/dwarfloc"
)

// ErrSupplementary is returned for DWARF that refers to a supplementary file.
var ErrSupplementary = errors.New("DWARF refers to a supplementary file (.gnu_debugaltlink)")

// valueKind selects the fields of a value that are set.
type valueKind uint8

const (
	valueNothing valueKind = iota
	valueNumber
	valueText
	valueRef
	valueBytes
	valueAddr
	valueAddrIndex // in .debug_addr
	valueListIndex // in the unit's table of location lists
)

// value is an attribute's value.
type value struct {
	kind valueKind
	num  int64 // also addresses, and references as offsets in .debug_info
	text text
	raw  []byte
}

// attributes reads the attributes of a DIE into n, which may be nil, and x.
func (d *decoder) attributes(a *abbrev, n *node, x *attributes) error {
	for i := range a.fields {
		f := &a.fields[i]
		if f.form == formSkip {
			d.skip(uint64(f.value))
			continue
		}
		v, err := d.value(f.form, f.value, 0)
		if err != nil {
			return err
		}
		if f.use != useNothing {
			d.set(f.use, &v, n, x)
		}
	}
	if d.bad {
		return fmt.Errorf("%w: the unit ends inside a DIE", ErrMalformed)
	}
	return nil
}

// set stores an attribute's value where its use needs it.
func (d *decoder) set(use use, v *value, n *node, x *attributes) {
	switch use {
	case useSibling:
		x.sibling = uint64(v.num)
		return
	case useLanguage:
		x.language = v.num
		return
	case useCount:
		if v.kind == valueNumber {
			x.count, x.hasCount = v.num, true
		}
		return
	case useUpperBound:
		if v.kind == valueNumber && !x.hasCount {
			x.count = v.num + 1
		}
		return
	case useStrOffsets:
		d.strBase = uint64(v.num)
		return
	case useAddrBase:
		d.compiled.AddrBase = uint64(v.num)
		return
	case useListBase:
		d.compiled.ListBase = uint64(v.num)
		return
	case useProducer:
		producer, _ := d.in.text(d.u, v.text)
		d.compiled.clang = bytes.Contains(producer, []byte("clang"))
		return
	}
	if n != nil {
		d.setNode(use, v, n)
	}
}

func (d *decoder) setNode(use use, v *value, n *node) {
	number := v.kind == valueNumber
	switch use {
	case useName:
		n.name = v.text
	case useType:
		n.ref = v.ref()
	case useOrigin, useSpecification:
		n.origin, n.specified = v.ref(), use == useSpecification
	case useConst:
		n.constant = true
		n.label = v.text
		if number {
			n.value = v.num
		}
	case useMemberLocation:
		n.location = d.memberLocation(v)
	case useLocation:
		if n.tag == dwarf.TagFormalParameter {
			d.noteLocation(n, v)
			return
		}
		n.address, n.place = d.fixedAddress(v)
	case useLowPC:
		n.address = d.codeAddress(v)
	case useInline:
		n.inline = v.num != 0
	case useConvention:
		n.convention = uint8(v.num)
	case useDeclaration:
		n.declared = v.num != 0
	case useExternal:
		n.external = v.num != 0
	}
	if !number {
		return
	}
	switch use {
	case useSize:
		n.size = v.num
	case useEncoding:
		n.encoding = uint8(v.num)
	case useBitSize:
		n.bitSize = int32(v.num)
	case useBitOffset:
		n.oldBits = v.num
	case useDataBitOffset:
		n.bitOffset = v.num
	}
}

func (v *value) ref() uint64 {
	if v.kind != valueRef {
		return 0
	}
	return uint64(v.num)
}

// value reads an attribute with a form.
func (d *decoder) value(form uint16, implicit int64, depth int) (value, error) {
	number := func(n uint64) (value, error) { return value{kind: valueNumber, num: int64(n)}, nil }
	local := func(n uint64) (value, error) { return value{kind: valueRef, num: int64(d.base + n)}, nil }
	bytes := func(n uint64) (value, error) { return value{kind: valueBytes, raw: d.take(n)}, nil }
	switch form {
	case formAddr:
		return value{kind: valueAddr, num: int64(d.sized(d.key.addrSize))}, nil
	case formData1, formFlag:
		return number(uint64(d.u8()))
	case formData2:
		return number(uint64(d.u16()))
	case formData4:
		return number(uint64(d.u32()))
	case formData8:
		return number(d.u64())
	case formUdata:
		return number(d.uleb())
	case formSdata:
		return number(uint64(d.sleb()))
	case formImplicitConst:
		return number(uint64(implicit))
	case formFlagPresent:
		return number(1)
	case formSecOffset:
		return value{kind: valueAddr, num: int64(d.sized(d.key.offSize))}, nil
	case formRef1:
		return local(uint64(d.u8()))
	case formRef2:
		return local(uint64(d.u16()))
	case formRef4:
		return local(uint64(d.u32()))
	case formRef8:
		return local(d.u64())
	case formRefUdata:
		return local(d.uleb())
	case formRefAddr:
		return value{kind: valueRef, num: int64(d.sized(uint8(d.key.fixedSize(formRefAddr))))}, nil
	case formRefSig8:
		// Signatures are resolved when all units have been read.
		return value{kind: valueRef, num: int64(d.u64() | signatureBit)}, nil
	case formBlock1:
		return bytes(uint64(d.u8()))
	case formBlock2:
		return bytes(uint64(d.u16()))
	case formBlock4:
		return bytes(uint64(d.u32()))
	case formBlock, formExprloc:
		return bytes(d.uleb())
	case formData16:
		return bytes(16)
	case formRnglistx:
		return value{kind: valueAddr, num: int64(d.uleb())}, nil
	case formLoclistx:
		return value{kind: valueListIndex, num: int64(d.uleb())}, nil
	case formAddrx, formGNUAddrIndex:
		return value{kind: valueAddrIndex, num: int64(d.uleb())}, nil
	case formAddrx1:
		return value{kind: valueAddrIndex, num: int64(d.u8())}, nil
	case formAddrx2:
		return value{kind: valueAddrIndex, num: int64(d.u16())}, nil
	case formAddrx3:
		return value{kind: valueAddrIndex, num: int64(d.u24())}, nil
	case formAddrx4:
		return value{kind: valueAddrIndex, num: int64(d.u32())}, nil
	case formIndirect:
		real := d.uleb()
		if depth > 0 || real > formGNUStrpAlt || real == formImplicitConst {
			return value{}, fmt.Errorf("%w: form %#x chosen by DW_FORM_indirect", ErrMalformed, real)
		}
		return d.value(uint16(real), 0, depth+1)
	case formGNURefAlt, formGNUStrpAlt, formRefSup4, formRefSup8, formStrpSup:
		return value{}, fmt.Errorf("%w; take a file that eu-unstrip or dwz did not split", ErrSupplementary)
	}
	return d.textValue(form)
}

// textValue reads a string attribute.
func (d *decoder) textValue(form uint16) (value, error) {
	t := text(0)
	switch form {
	case formString:
		t = textInline | text(d.at)
		d.text()
	case formStrp:
		t = textStr | text(d.sized(d.key.offSize))&textOffset
	case formLineStrp:
		t = textLineStr | text(d.sized(d.key.offSize))&textOffset
	case formStrx, formGNUStrIndex:
		t = d.indexed(d.uleb())
	case formStrx1:
		t = d.indexed(uint64(d.u8()))
	case formStrx2:
		t = d.indexed(uint64(d.u16()))
	case formStrx3:
		t = d.indexed(uint64(d.u24()))
	case formStrx4:
		t = d.indexed(uint64(d.u32()))
	default:
		return value{}, fmt.Errorf("%w: unknown form %#x", ErrMalformed, form)
	}
	return value{kind: valueText, text: t}, nil
}

// indexed returns a string of .debug_str by its index in .debug_str_offsets.
func (d *decoder) indexed(i uint64) text {
	size := uint64(d.key.offSize)
	n := uint64(len(d.in.strOffsets))
	if d.strBase > n || i >= (n-d.strBase)/size {
		return 0
	}
	c := cursor{b: d.in.strOffsets, at: int(d.strBase + i*size), big: d.big}
	return textStr | text(c.sized(d.key.offSize))&textOffset
}

// fixedAddress returns the address of a variable whose location is a constant address.
func (d *decoder) fixedAddress(v *value) (uint64, placeKind) {
	if v.kind != valueBytes || len(v.raw) < 2 {
		return 0, placeOther
	}
	c := cursor{b: v.raw, at: 1, big: d.big}
	var addr uint64
	switch v.raw[0] {
	case dwarfloc.OpAddr:
		addr = c.sized(d.key.addrSize)
	case dwarfloc.OpAddrx, dwarfloc.OpGNUAddrIndex:
		var err error
		if addr, err = d.compiled.Address(c.uleb()); err != nil {
			return 0, placeOther
		}
	default:
		return 0, placeOther
	}
	if c.bad || c.at != len(c.b) {
		return 0, placeOther
	}
	return addr, placeFixed
}

// codeAddress returns the value of an address attribute; 0 if .debug_addr does not have it.
func (d *decoder) codeAddress(v *value) uint64 {
	switch v.kind {
	case valueAddr:
		return uint64(v.num)
	case valueAddrIndex:
		if a, err := d.compiled.Address(uint64(v.num)); err == nil {
			return a
		}
	}
	return 0
}

// memberLocation returns the offset of a member in bytes: a constant, or in older DWARF an
// expression that adds one.
func (d *decoder) memberLocation(v *value) int64 {
	switch {
	case v.kind == valueNumber:
		return v.num
	case v.kind == valueBytes && len(v.raw) > 1 && v.raw[0] == dwarfloc.OpPlusUconst:
		c := cursor{b: v.raw, at: 1}
		if n := c.uleb(); !c.bad {
			return int64(n)
		}
	}
	return 0
}
