package packet

// Repair sets the lengths of IP and UDP headers to what the packet has, and then the checksums that
// can be computed, innermost first, because those outside cover them. UDP without a checksum stays
// without. What an IP header calls longer than the packet was cut, as by a capture, and stays so:
// the lengths of that header and of those inside it are those of the whole.
func Repair(p []byte, start Start) {
	limit := len(p)
	for _, l := range Decode(p, start).Layers {
		if l.short {
			continue
		}
		switch l.proto {
		case ip:
			be.PutUint16(p[l.Off+2:], uint16(min(limit-l.Off, 0xffff)))
		case ip6:
			if n := limit - l.Off - l.Len; n >= 0 {
				be.PutUint16(p[l.Off+4:], uint16(min(n, 0xffff)))
			}
		case udp:
			be.PutUint16(p[l.Off+4:], uint16(min(limit-l.Off, 0xffff)))
		}
	}
	h := Decode(p, start)
	for i := len(h.Layers) - 1; i >= 0; i-- {
		if state, want := h.Sum(p, i); state == SumWrong {
			if f, ok := h.Layers[i].Field(p, "csum"); ok {
				f.Put(p, want)
			}
		}
	}
}
