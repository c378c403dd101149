package scenario

// example is a part of a file that shows a form. Where it has no runs, those of the file follow.
type example struct{ form, text string }

// examples has one for each form; a test parses them.
var examples = []example{
	{"scenario", `description: new connections are counted
kernels: [5.10, 6.12]
globals: {otherwise: 1}
maps: {ports: {443: {allowed: 1}}}
runs:
- name: HTTPS passes
  prog: filter
  packet: eth/ip/tcp(dport=443)
  expect: {ret: XDP_PASS}
`},
	{"kernel", `kernel: {cpus: 4, random: [7, 11], kconfig: {CONFIG_HZ: 250}}
`},
	{"clock", `kernel: {clock: {mono: 1h, boot: 1h30m, step: 1us}}
`},
	{"network", `kernel:
  network:
    devices: [{index: 3, name: wan0, mtu: 1400}]
    routes: [{to: 10.0.0.0/8, dev: wan0, via: 10.0.0.1}]
    neighbours: [{addr: 10.0.0.1, mac: "02:00:00:00:00:09", dev: wan0}]
`},
	{"device of the network", `kernel: {network: {devices: [{index: 3, name: wan0, mtu: 1400, mac: "02:00:00:00:00:03"}]}}
`},
	{"route", `kernel: {network: {routes: [{to: 2001:db8::/32, dev: eth0, src: 2001:db8::1}, {to: 192.0.2.0/24, type: blackhole}]}}
`},
	{"neighbour", `kernel: {network: {neighbours: [{addr: 198.51.100.1, mac: "02:00:00:00:00:09", dev: eth0}]}}
`},
	{"run", `runs:
- name: a file that does not exist
  prog: on_exit
  current: $shell
  args: {ret: -2}
  after: 5ms
  expect: {ret: 0, ringbuf: {events: 1}}
`},
	{"traced function", `runs:
- prog: count_calls
  functions: {vfs_read: {cookie: 1, args: {count: 512}}, vfs_write: {cookie: 2}}
`},
	{"override", `runs:
- name: the second update fails
  prog: count
  helpers: {bpf_map_update_elem: {fail_at: 2, errno: E2BIG}}
`},
	{"context", `runs:
- prog: classify
  packet: eth/ip/tcp
  context: {ingress: true, fields: {mark: 7, gso_size: 1400}}
`},
	{"tunnel", `runs:
- prog: from_vxlan
  context: {tunnel: {id: 42, remote: 192.0.2.7, ttl: 63}}
`},
	{"received", `runs:
- prog: stamp
  packet: eth/ip/udp
  context: {received: {timestamp: 1700000000000000000, hash: 0x1234}}
`},
	{"sockopt", `runs:
- prog: on_setsockopt
  context: {sockopt: {level: SOL_SOCKET, optname: 8, optval: 65536}}
`},
	{"sysctl", `runs:
- prog: guard
  context: {sysctl: {name: net/ipv4/ip_forward, value: "0", new: "1"}}
  expect: {ret: 0}
`},
	{"device", `runs:
- prog: allow
  context: {device: {type: char, access: rw, major: 1, minor: 9}}
  expect: {ret: 1}
`},
	{"sched", `runs:
- name: both get half
  sched: {duration: 24ms, tasks: {a: {do: [run 1s]}, b: {do: [run 1s]}}}
`},
	{"sched task", `runs:
- sched:
    tasks:
      busy: {count: 4, do: [run 1s]}
      light: {nice: -5, cpus: [0], do: [run 1ms, sleep 9ms]}
`},
	{"qdisc", `runs:
- name: more than the link takes
  qdisc: {rate: 10mbit, duration: 200ms, flows: {bulk: {rate: 20mbit, count: 500}}}
`},
	{"qdisc flow", `runs:
- qdisc:
    flows:
      bulk: {rate: 100mbit, count: 1000}
      voice: {size: 214, interval: 20ms, count: 25, priority: 6}
`},
	{"sockets", `objects:
  client: !sock {state: TCP_ESTABLISHED}
  server: !sock {state: TCP_ESTABLISHED}
maps: {sockets: {0: $client, 1: $server}}
runs:
- sockets: {steps: [{to: client, data: "hello"}]}
`},
	{"sockets step", `runs:
- sockets: {steps: [{to: client, data: !hex "00 05"}, {from: server, data: "GET /"}]}
`},
	{"tcp", `runs:
- name: one loss halves the window
  tcp: {rate: 20mbit, rtt: 30ms, segments: 60, drops: [15]}
`},
	{"hid", `runs:
- prog: remap
  hid: {device: {vendor: 0x1209}, events: [{input: "01 00 00"}]}
`},
	{"HID device", `runs:
- prog: remap
  hid: {device: {bus: usb, vendor: 0x1209, product: 1, name: Worn mouse}}
`},
	{"HID event", `runs:
- prog: remap
  hid: {events: [{input: "01 00 00"}, {get: "03", type: feature, after: 10ms}]}
`},
	{"race", `race:
- name: a packet and its reader
  actors: [{prog: count, packet: eth/ip/tcp}, {user: [read counts 0 packets]}]
  preemptions: 1
`},
	{"race actor", `race:
- actors:
  - {name: first, prog: count, cpu: 0}
  - {name: timer, prog: expire, over: first, enters: interrupt}
`},
	{"race before", `race:
- actors: [{prog: count, cpu: 0}, {prog: count, cpu: 1}]
  before: [{prog: count, packet: eth/ip/udp}]
`},
	{"expect", `runs:
- prog: filter
  packet: eth/ip(ttl=1)/udp
  expect: {ret: XDP_DROP, maps: {drops: {0: {packets: 1}}}, packet: unchanged, findings: none}
`},
	{"expect.chain", `runs:
- chain: [limit, filter]
  packet: eth/ip/tcp
  expect: {chain: {verdict: TCX_DROP, ran: [limit]}}
`},
	{"expect function", `runs:
- prog: count_calls
  functions: all
  expect: {functions: {vfs_read: {ret: 0, calls: 1}}}
`},
	{"expect sched", `runs:
- sched: {duration: 12ms, tasks: {a: {cpus: [0], do: [run 1s]}}}
  expect: {sched: {exit: unregistered, begins: [0 a 0s 12ms]}}
`},
	{"expect sched task", `runs:
- sched: {tasks: {light: {do: [run 1ms, sleep 9ms]}}}
  expect: {sched: {tasks: {light: {max_latency: !le 5ms, wakeups: !ge 90}}}}
`},
	{"expect sched fair", `runs:
- sched: {tasks: {a: {do: [run 1s]}, b: {do: [run 1s]}}}
  expect: {sched: {fair: {tasks: [a, b], within: 5}}}
`},
	{"expect qdisc", `runs:
- qdisc: {flows: {bulk: {count: 100}}}
  expect: {qdisc: {sent: 100, dropped: 0, most_held: !le 60}}
`},
	{"expect qdisc flow", `runs:
- qdisc: {flows: {bulk: {count: 100}, voice: {size: 214, count: 5}}}
  expect: {qdisc: {flows: {voice: {max_wait: !le 5ms, dropped: 0}}}}
`},
	{"expect qdisc fair", `runs:
- qdisc: {flows: {a: {count: 100}, b: {count: 100}}}
  expect: {qdisc: {fair: {flows: [a, b], within: 5}}}
`},
	{"expect socket", `runs:
- sockets: {steps: [{to: client, data: "hello"}]}
  expect: {sockets: {client: {received: "hello", dropped: 0}}}
`},
	{"expect tcp", `runs:
- tcp: {segments: 60, drops: [15]}
  expect: {tcp: {lost: 1, recoveries: 1, most_queue: !le 30}}
`},
	{"expected HID", `runs:
- prog: remap
  hid: {events: [{input: "01 00 00"}]}
  expect: {hid: {accepted: true, input: ["01 00 00"]}}
`},
}

// exampleOf returns the example of a form, "" for none.
func exampleOf(form string) string {
	for _, e := range examples {
		if e.form == form {
			return e.text
		}
	}
	return ""
}
