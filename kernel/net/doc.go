// Package net is the simulated kernel's network: packets with their fragments ([Packet]), sockets ([Socket]), and interfaces, routes and
// neighbours ([Network]), all of one [Host].
//
// A [View] is a struct of the user ABI whose fields the verifier rewrites: loads and stores go to values of the simulated kernel and are judged
// as the kernel's is_valid_access functions do. Sockets are such views to programs; contexts of networking programs are made of them by
// package hook, which alone knows program types. A socket's values also lie in a struct sock of the target's BTF once somebody asks for it.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package net
