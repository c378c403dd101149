package scopes

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/dwarfloc"
)

var errNotSaved = errors.New("not saved")

// state has registers of 100 times their number, a frame at 0x5000, and memory that holds its own
// address doubled.
var state = State{
	Reg: func(n int) (uint64, error) {
		if n == 9 {
			return 0, errNotSaved
		}
		return 100 * uint64(n), nil
	},
	Frame: func() (uint64, error) { return 0x5000, nil },
	Read:  func(addr uint64, size int) (uint64, error) { return 2*addr + uint64(size), nil },
}

func TestLocations(t *testing.T) {
	reg := 3
	for name, tt := range map[string]struct {
		expr []byte
		want Where
	}{
		"register":                     {[]byte{dwarfloc.OpReg0 + 7}, Where{Kind: InRegister, Reg: 7}},
		"register by number":           {[]byte{dwarfloc.OpRegx, 10}, Where{Kind: InRegister, Reg: 10}},
		"at a register":                {[]byte{dwarfloc.OpBreg0 + 3, 0x08}, Where{Kind: InMemory, Addr: 308}},
		"below a register":             {[]byte{dwarfloc.OpBreg0 + 3, 0x78}, Where{Kind: InMemory, Addr: 292}},
		"below the frame pointer":      {[]byte{dwarfloc.OpBreg0 + framePointer, 0x70}, Where{Kind: InMemory, Addr: 100*framePointer - 16}},
		"in the frame, clang's way":    {[]byte{dwarfloc.OpBreg0 + framePointer, 0x10}, Where{Kind: InMemory, Addr: 0x5010}},
		"frame base":                   {[]byte{dwarfloc.OpFbreg, 0x10}, Where{Kind: InMemory, Addr: 0x5010}},
		"below the frame base":         {[]byte{dwarfloc.OpFbreg, 0x70}, Where{Kind: InMemory, Addr: 100*framePointer - 16}},
		"constant":                     {[]byte{dwarfloc.OpLit0 + 5, dwarfloc.OpStackValue}, Where{Kind: Computed, Value: 5}},
		"two bytes":                    {[]byte{dwarfloc.OpConst2u, 0xfe, 0xff, dwarfloc.OpStackValue}, Where{Kind: Computed, Value: 0xfffe}},
		"two signed bytes":             {[]byte{dwarfloc.OpConst2s, 0xfe, 0xff, dwarfloc.OpStackValue}, Where{Kind: Computed, Value: ^uint64(1)}},
		"register plus constant":       {[]byte{dwarfloc.OpBreg0 + 3, 0, dwarfloc.OpPlusUconst, 4, dwarfloc.OpStackValue}, Where{Kind: Computed, Value: 304, From: &reg}},
		"loaded":                       {[]byte{dwarfloc.OpBreg0 + 3, 0, dwarfloc.OpDeref, dwarfloc.OpStackValue}, Where{Kind: Computed, Value: 608, From: &reg}},
		"loaded four bytes":            {[]byte{dwarfloc.OpBreg0 + 3, 0, dwarfloc.OpDerefSize, 4, dwarfloc.OpStackValue}, Where{Kind: Computed, Value: 604, From: &reg}},
		"arithmetic shift":             {[]byte{dwarfloc.OpConsts, 0x70, dwarfloc.OpLit0 + 2, dwarfloc.OpShra, dwarfloc.OpStackValue}, Where{Kind: Computed, Value: ^uint64(3)}},
		"converted":                    {[]byte{dwarfloc.OpLit0 + 9, dwarfloc.OpConvert, 0, dwarfloc.OpStackValue}, Where{Kind: Computed, Value: 9}},
		"bytes of the expression":      {[]byte{dwarfloc.OpImplicit, 3, 1, 2, 3}, Where{Kind: Computed, Bytes: []byte{1, 2, 3}}},
		"signed division, as in DWARF": {[]byte{dwarfloc.OpConsts, 0x78, dwarfloc.OpLit0 + 3, dwarfloc.OpDiv, dwarfloc.OpStackValue}, Where{Kind: Computed, Value: ^uint64(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Locate(tt.expr, binary.LittleEndian, state)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestLocationsThatGiveNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		expr []byte
		want error
	}{
		"empty":                     {nil, errOptimizedOut},
		"entry value":               {[]byte{dwarfloc.OpEntryValue, 1, dwarfloc.OpReg0 + 1}, errOptimizedOut},
		"in pieces":                 {[]byte{dwarfloc.OpReg0 + 1, dwarfloc.OpPiece, 4}, errOptimizedOut},
		"register not saved":        {[]byte{dwarfloc.OpBreg0 + 9, 0}, errNotSaved},
		"cut off number":            {[]byte{dwarfloc.OpConst4u, 1, 2}, ErrUnreadable},
		"cut off bytes":             {[]byte{dwarfloc.OpImplicit, 3, 1}, ErrUnreadable},
		"cut off offset":            {[]byte{dwarfloc.OpFbreg, 0x80}, ErrUnreadable},
		"load of nine bytes":        {[]byte{dwarfloc.OpLit0, dwarfloc.OpDerefSize, 9}, ErrUnreadable},
		"operation without operand": {[]byte{dwarfloc.OpLit0, dwarfloc.OpPlus}, ErrUnreadable},
		"division by zero":          {[]byte{dwarfloc.OpLit0, dwarfloc.OpLit0, dwarfloc.OpDiv}, ErrUnreadable},
		"unknown operation":         {[]byte{0xff}, ErrUnreadable},
		"nothing left":              {[]byte{dwarfloc.OpLit0, dwarfloc.OpDrop}, ErrUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Locate(tt.expr, binary.LittleEndian, state)
			assert.ErrorIs(t, err, tt.want)
		})
	}
}
