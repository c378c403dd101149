package scopes

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errNotSaved = errors.New("not saved")

// state has registers of 100 times their number, a frame at 0x5000, and memory that holds its own address doubled.
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
		"register":                     {[]byte{opReg0 + 7}, Where{Kind: InRegister, Reg: 7}},
		"register by number":           {[]byte{opRegx, 10}, Where{Kind: InRegister, Reg: 10}},
		"at a register":                {[]byte{opBreg0 + 3, 0x08}, Where{Kind: InMemory, Addr: 308}},
		"below a register":             {[]byte{opBreg0 + 3, 0x78}, Where{Kind: InMemory, Addr: 292}},
		"below the frame pointer":      {[]byte{opBreg0 + framePointer, 0x70}, Where{Kind: InMemory, Addr: 100*framePointer - 16}},
		"in the frame, clang's way":    {[]byte{opBreg0 + framePointer, 0x10}, Where{Kind: InMemory, Addr: 0x5010}},
		"frame base":                   {[]byte{opFbreg, 0x10}, Where{Kind: InMemory, Addr: 0x5010}},
		"below the frame base":         {[]byte{opFbreg, 0x70}, Where{Kind: InMemory, Addr: 100*framePointer - 16}},
		"constant":                     {[]byte{opLit0 + 5, opStackValue}, Where{Kind: Computed, Value: 5}},
		"two bytes":                    {[]byte{opConst2u, 0xfe, 0xff, opStackValue}, Where{Kind: Computed, Value: 0xfffe}},
		"two signed bytes":             {[]byte{opConst2s, 0xfe, 0xff, opStackValue}, Where{Kind: Computed, Value: ^uint64(1)}},
		"register plus constant":       {[]byte{opBreg0 + 3, 0, opPlusUconst, 4, opStackValue}, Where{Kind: Computed, Value: 304, From: &reg}},
		"loaded":                       {[]byte{opBreg0 + 3, 0, opDeref, opStackValue}, Where{Kind: Computed, Value: 608, From: &reg}},
		"loaded four bytes":            {[]byte{opBreg0 + 3, 0, opDerefSize, 4, opStackValue}, Where{Kind: Computed, Value: 604, From: &reg}},
		"arithmetic shift":             {[]byte{opConsts, 0x70, opLit0 + 2, opShra, opStackValue}, Where{Kind: Computed, Value: ^uint64(3)}},
		"converted":                    {[]byte{opLit0 + 9, opConvert, 0, opStackValue}, Where{Kind: Computed, Value: 9}},
		"bytes of the expression":      {[]byte{opImplicit, 3, 1, 2, 3}, Where{Kind: Computed, Bytes: []byte{1, 2, 3}}},
		"signed division, as in DWARF": {[]byte{opConsts, 0x78, opLit0 + 3, opDiv, opStackValue}, Where{Kind: Computed, Value: ^uint64(1)}},
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
		"entry value":               {[]byte{opEntryValue, 1, opReg0 + 1}, errOptimizedOut},
		"in pieces":                 {[]byte{opReg0 + 1, opPiece, 4}, errOptimizedOut},
		"register not saved":        {[]byte{opBreg0 + 9, 0}, errNotSaved},
		"cut off number":            {[]byte{opConst4u, 1, 2}, ErrUnreadable},
		"cut off bytes":             {[]byte{opImplicit, 3, 1}, ErrUnreadable},
		"cut off offset":            {[]byte{opFbreg, 0x80}, ErrUnreadable},
		"load of nine bytes":        {[]byte{opLit0, opDerefSize, 9}, ErrUnreadable},
		"operation without operand": {[]byte{opLit0, opPlus}, ErrUnreadable},
		"division by zero":          {[]byte{opLit0, opLit0, opDiv}, ErrUnreadable},
		"unknown operation":         {[]byte{0xff}, ErrUnreadable},
		"nothing left":              {[]byte{opLit0, opDrop}, ErrUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Locate(tt.expr, binary.LittleEndian, state)
			assert.ErrorIs(t, err, tt.want)
		})
	}
}
