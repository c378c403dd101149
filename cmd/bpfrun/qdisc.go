package main

import (
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc/traffic"
	"github.com/bpfrun/bpfrun/loader"
)

// disciplines returns the queueing disciplines to run: all of the object's, unless programs are
// named.
func (o runOptions) disciplines(obj *loader.Object) []string {
	if len(o.progs) > 0 || o.replays() {
		return nil
	}
	return traffic.Disciplines(obj)
}
