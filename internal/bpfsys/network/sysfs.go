package network

import (
	"fmt"
	"slices"
	"strings"
)

// The files of devices in /sys/class/net (net/core/net-sysfs.c).

// counters are the numbers in a device's directory statistics: packets do not travel, so they are
// 0.
var counters = []string{
	"collisions", "multicast", "rx_bytes", "rx_compressed", "rx_crc_errors", "rx_dropped", "rx_errors", "rx_fifo_errors", "rx_frame_errors", "rx_length_errors", "rx_missed_errors", "rx_nohandler",
	"rx_over_errors", "rx_packets", "tx_aborted_errors", "tx_bytes", "tx_carrier_errors", "tx_compressed", "tx_dropped", "tx_errors", "tx_fifo_errors", "tx_heartbeat_errors", "tx_packets", "tx_window_errors",
}

// constants are files that say the same of each device.
var constants = map[string]string{
	"addr_assign_type": "0", "addr_len": "6", "carrier_changes": "0", "dev_id": "0x0", "dev_port": "0", "gro_flush_timeout": "0", "link_mode": "0", "napi_defer_hard_irqs": "0",
	"netdev_group": "0", "proto_down": "0", "threaded": "0",
}

// varying are files whose contents depend on the device.
var varying = []string{"address", "broadcast", "carrier", "flags", "ifalias", "ifindex", "iflink", "mtu", "name_assign_type", "operstate", "tx_queue_len", "type", "uevent"}

// ARP hardware types (ARPHRD_*).
const (
	HardwareEther    = 1
	HardwareLoopback = 772
)

// Hardware returns the device's type (ARPHRD_*).
func (d *Device) Hardware() uint16 {
	if d.Ethernet() {
		return HardwareEther
	}
	return HardwareLoopback
}

// operStates are the names of operational states.
var operStates = map[uint8]string{operUnknown: "unknown", operDown: "down", operLowerDown: "lowerlayerdown", operUp: "up"}

// Link returns the index of the device's other end, or its own (dev_get_iflink).
func (d *Device) Link() uint32 {
	if d.Peer != nil {
		return d.Peer.Index
	}
	return d.Index
}

func hardwareText(a []byte) string { return strings.ReplaceAll(fmt.Sprintf("% x", a), " ", ":") }

// SysDir lists the names in the device's sysfs directory, or in a directory below it. It returns
// nil if the directory does not exist.
func (d *Device) SysDir(path string) []string {
	switch path {
	case "":
		out := append(slices.Clone(varying), "statistics")
		for name := range constants {
			out = append(out, name)
		}
		slices.Sort(out)
		return out
	case "statistics":
		return counters
	}
	return nil
}

// SysFile returns a file in the device's directory of sysfs. ok is false if there is none.
func (d *Device) SysFile(path string) (text string, ok bool) {
	if text, ok := constants[path]; ok {
		return text + "\n", true
	}
	if name, ok := strings.CutPrefix(path, "statistics/"); ok {
		return "0\n", slices.Contains(counters, name)
	}
	v := any(nil)
	switch path {
	case "address":
		v = hardwareText(d.Address[:])
	case "broadcast":
		v = hardwareText(d.Broadcast())
	case "carrier":
		if v = 0; d.Flags()&FlagLowerUp != 0 {
			v = 1
		}
		if !d.Up() {
			v = "" // reading fails with EINVAL in a kernel
		}
	case "flags":
		const volatile = FlagRunning | FlagLowerUp
		v = fmt.Sprintf("%#x", d.Flags()&^volatile)
	case "ifalias":
		if d.Alias == "" {
			return "", true
		}
		v = d.Alias
	case "ifindex":
		v = d.Index
	case "iflink":
		v = d.Link()
	case "mtu":
		v = d.MTU
	case "name_assign_type":
		if v = 3; d.Kind == kindLoopback {
			v = 2 // predictable by the kernel
		}
	case "operstate":
		v = operStates[d.OperState()]
	case "tx_queue_len":
		v = d.Queue
	case "type":
		v = d.Hardware()
	case "uevent":
		v = fmt.Sprintf("INTERFACE=%s\nIFINDEX=%d", d.Name, d.Index)
	default:
		return "", false
	}
	return fmt.Sprintln(v), true
}

// Broadcast returns the device's link-layer broadcast address.
func (d *Device) Broadcast() []byte {
	b := make([]byte, len(d.Address))
	if d.Ethernet() {
		for i := range b {
			b[i] = 0xff
		}
	}
	return b
}

// StatisticsLine returns the device's line of /proc/net/dev.
func (d *Device) StatisticsLine() string {
	return fmt.Sprintf("%6s: %7d %7d %4d %4d %4d %5d %10d %9d %8d %7d %4d %4d %4d %5d %7d %10d\n", d.Name, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}
