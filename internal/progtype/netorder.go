package progtype

// inNetworkOrder says what fields of contexts hold in network byte order
// (include/uapi/linux/bpf.h). All of them are plain numbers by type. local_port and src_port are in
// the order of the host, and so is the protocol of sockets, which is a byte.
var inNetworkOrder = map[string]string{
	"user_port": "port", "dst_port": "port", "remote_port": "port",
	"protocol": "protocol", "vlan_proto": "protocol",
	"user_ip4": "address", "remote_ip4": "address", "local_ip4": "address", "msg_src_ip4": "address", "src_ip4": "address", "dst_ip4": "address",
}

// NetworkOrder says what a field of a context holds in network byte order: "port" or "protocol" (16
// bits), or "address" (IPv4, 32 bits); "" for other fields.
func NetworkOrder(field string) string { return inNetworkOrder[field] }
