package net

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/mem"
)

// mostPlaces is the maximum number of places of a packet; after as many moves in one run, the first
// address is valid again.
const mostPlaces = 64

// Move moves the packet to another place with the same room around it; its bytes do not change.
// Earlier addresses are then dangling, and a fault at one of them says why: helpers that may change
// the packet invalidate them, whatever they did (kernel/bpf/verifier.c clear_all_pkt_pointers).
// Places are kept, because programs call such helpers for every packet.
func (p *Packet) Move(why string) error {
	if p.places == nil {
		p.places = []*mem.Region{p.region}
	}
	next := (p.place + 1) % mostPlaces
	if next == len(p.places) {
		if err := p.addPlace(); err != nil {
			return err
		}
	}
	return p.goTo(next, p.meta, p.end, why)
}

// addPlace allocates another, inactive place.
func (p *Packet) addPlace() error {
	_, size := p.region.Extent()
	r, err := p.k.Mem().Alloc(size, mem.Region{Kind: mem.Packet, Name: p.region.Name, ReadOnly: p.ro, Owner: p})
	if err != nil {
		return fmt.Errorf("kernel: packet: %w", err)
	}
	p.places = append(p.places, r)
	p.k.Mem().Rest(r, "the packet has not reached yet")
	return nil
}

// goTo moves the packet to another place; its bounds [lo, hi) are addresses in the current place.
func (p *Packet) goTo(place int, lo, hi uint64, why string) error {
	m, from, to := p.k.Mem(), p.region, p.places[place]
	was, _ := from.Extent()
	base, _ := to.Extent()
	by := base - was
	var unwritten []uint64
	if from.Marked() {
		unwritten = m.Unwritten(from.Base, from.Size)
	}
	if err := m.Wake(to, lo+by, hi+by); err != nil {
		return fmt.Errorf("kernel: packet: %w", err)
	}
	// Bytes past the end are written before they become part of the packet.
	n := copy(m.ExtentBytes(to)[p.min-was:], p.window(p.min, p.end+uint64(p.after)))
	m.NoteMoved(uint64(n))
	for _, addr := range unwritten {
		m.Unwrite(addr+by, 1)
	}
	m.Rest(from, why)
	p.region, p.place = to, place
	p.data, p.end, p.meta, p.min, p.max = p.data+by, p.end+by, p.meta+by, p.min+by, p.max+by
	return nil
}

// dropPlaces frees all places but the packet's own.
func (p *Packet) dropPlaces() {
	for _, r := range p.places {
		if r != p.region {
			p.release(r)
		}
	}
	p.places, p.place = nil, 0
}

// rewind moves the packet back to its first place, if that is the given one.
func (p *Packet) rewind(first *mem.Region) bool {
	if p.region == first {
		return true
	}
	return len(p.places) != 0 && p.places[0] == first && p.goTo(0, p.meta, p.end, "belonged to the packet before") == nil
}

// leave frees the places of a packet that gets a place of a different size.
func (p *Packet) leave(region *mem.Region) {
	p.release(region)
	p.dropPlaces()
}
