// Package net implements the simulated kernel's network: packets with their fragments ([Packet]),
// sockets ([Socket]), and interfaces, routes and neighbours ([Network]), all part of one [Host].
//
// A [View] is a struct of the user ABI whose accesses the verifier rewrites: loads and stores
// access values of the simulated kernel and are checked as by the kernel's is_valid_access
// functions. Programs see sockets as such views; package hook, the only one that knows program
// types, builds contexts of networking programs from them. A socket's values are also stored in a
// struct sock of the target's BTF once that is needed.
package net
