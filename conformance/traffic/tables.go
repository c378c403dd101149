package traffic

import "encoding/binary"

// Element is a map element that user space stores before the traffic arrives.
type Element struct{ Key, Value []byte }

// Tables returns the initial elements of the maps of known tools: policies for some of the
// addresses and ports of the traffic, and CPUs and interfaces to redirect packets to. It returns
// nil for a map that stays empty. Sizes are in bytes, cpus is the number of CPUs, and order is the
// machine's byte order.
func Tables(name string, keySize, valueSize, cpus int, order binary.ByteOrder) []Element {
	u32 := func(v uint32) []byte {
		b := make([]byte, 4)
		order.PutUint32(b, v)
		return b
	}
	value := func(v uint64) []byte {
		b := make([]byte, (valueSize+7)&^7)
		order.PutUint64(b, v)
		return b
	}
	// all returns a per-CPU value with the same number on every CPU.
	all := func(v uint64) (out []byte) {
		for range cpus {
			out = append(out, value(v)...)
		}
		return out
	}
	var e []Element
	switch {
	case name == "filter_ports": // the index is a port in network order; the bits stand for source, destination, TCP, UDP
		for port, bits := range map[uint16]uint64{80: 0xe, 53: 0xb, 443: 0x5, 12345: 0xf} {
			e = append(e, Element{u32(uint32(order.Uint16(binary.BigEndian.AppendUint16(nil, port)))), all(bits)})
		}
	case name == "filter_ipv4":
		e = append(e, Element{[]byte{192, 0, 2, 1}, all(1)}, Element{[]byte{192, 0, 2, 2}, all(2)})
	case name == "filter_ipv6":
		for last, bits := range map[byte]uint64{1: 1, 2: 3} {
			e = append(e, Element{append([]byte{0x20, 1, 0xd, 0xb8}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last), all(bits)})
		}
	case name == "filter_ethernet":
		e = append(e, Element{[]byte{2, 0, 0, 0, 0, 1}, all(1)}, Element{[]byte{2, 0, 0, 0, 0, 2}, all(2)})
	case name == "cpus_available" && keySize == 4 && valueSize == 4:
		for i := range uint32(2) {
			e = append(e, Element{u32(i), u32(i % uint32(cpus))})
		}
	case name == "cpu_map": // queues of 192 packets
		for i := range uint32(2) {
			e = append(e, Element{u32(i), append(u32(192), make([]byte, valueSize-4)...)})
		}
	case name == "cpus_count" && valueSize == 4:
		e = append(e, Element{u32(0), u32(2)})
	case name == "tx_port" || name == "tx_port_general" || name == "tx_port_native" || name == "forward_map_general" || name == "forward_map_native":
		e = append(e, Element{u32(0), append(u32(1), make([]byte, valueSize-4)...)})
	case name == "flow_table_v4" && keySize == 16: // the key is addresses, ports, and a flag for TCP
		for i := range uint32(2) {
			key := append([]byte{192, 0, 2, 1, 192, 0, 2, 2}, 0, 80, 0x9c, 0x40)
			e = append(e, Element{append(key, u32(i)...), make([]byte, cpus*valueSize)})
		}
	}
	return e
}
