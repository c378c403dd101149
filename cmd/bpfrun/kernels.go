package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/kernels"
)

const kernelsLong = `List, add and pack the kernels that --btf finds by release name.

--btf 6.12 means a file or directory of that name, else a kernel found on the search path: the directories in BPFRUN_KERNELS
(plain, a checkout of BTFHub, or archives of kernels pack; separated as in PATH), kernels you added, and on Linux /usr/lib/debug, /boot and the packages
in apt's cache. A name is a release or a prefix of one, with other words from the kernel's name if you like: 6.12, 6.12-arm64,
debian-6.12.107, 6.1-cloud.

If several kernels match, amd64 wins, then the earlier place, then the one with the fewest words
you did not ask for, then the newest. If none matches and the embedded kernel does, it is used, and a note says so.

Nothing is downloaded.`

// kernelsCommand is bpfrun kernels.
type kernelsCommand struct {
	*console
	kernels *kernelFlags

	as string
}

func newKernelsCommand(a *app) *cobra.Command {
	c := &kernelsCommand{console: &a.console, kernels: &a.kernels}
	cmd := &cobra.Command{
		Use:   "kernels",
		Short: "List, add and pack the kernels that --btf finds by name",
		Long:  kernelsLong,
		Args:  noSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{
		Use:     "list [NAME]",
		Short:   "List the kernels found by name; with NAME, those that match, best first, or those of an archive",
		Example: "  bpfrun kernels list\n  bpfrun kernels list 6.1-cloud",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return c.listKernels(args) },

		ValidArgsFunction: kernelNames,
	}

	add := &cobra.Command{
		Use:   "add FILE...",
		Short: "Store the types of kernels, so that --btf finds them by name",
		Long: `Store the types of kernels in your cache directory, so that --btf finds them by name. FILE is raw BTF, vmlinux or vmlinuz, possibly
compressed; a Debian or Ubuntu package with a kernel (linux-image-*, linux-binary-*, linux-image-*-dbg, linux-image-*-dbgsym); or an
archive of such files, tar or one of kernels pack, which are all added. Of a directory, all such files below it are added.

In BTFHub's layout (ubuntu/20.04/x86_64/5.4.0-1009-aws.btf.tar.xz) the directories become part of the name, whether FILE is one of those
files, a directory of them or an archive. The types of a Debian or Ubuntu package's modules are kept, too: --module-btf ext4 finds them. Where they are in packages of their own
(linux-modules-*), add these after the kernel.

Where kernels come from (nothing is downloaded by this command):
  this machine       /sys/kernel/btf/vmlinux
  Debian             linux-image-* of https://snapshot.debian.org; types of the modules in linux-image-*-dbg
  Ubuntu             linux-modules-* for modules, and linux-image-*-dbgsym of http://ddebs.ubuntu.com for kernels without BTF
  older kernels      a checkout of https://github.com/aquasecurity/btfhub-archive
  for bpfrun's tests make corpus, in a clone: twelve kernels of Debian, and objects of packages`,
		Example: "  bpfrun kernels add linux-image-6.12.107+deb13-amd64_6.12.107-1_amd64.deb\n  bpfrun kernels add vmlinux --as 6.12.107-amd64-mine",
		Args:    atLeast(1),
		RunE:    func(_ *cobra.Command, args []string) error { return c.addKernels(args, c.as) },
	}
	add.Flags().StringVar(&c.as, "as", "", "store it under `NAME`, which includes the release: for files whose own name does not")
	cmd.AddCommand(list, add, newKernelsPackCommand(a))
	return cmd
}

func (c *kernelsCommand) listKernels(args []string) error {
	path := c.kernels.kernelPath()
	found := path.List()
	if len(args) > 0 {
		var err error
		if found, err = path.Matches(args[0]); err != nil {
			return usageError{err}
		}
	}
	return c.writeKernels(found)
}

func (c *kernelsCommand) writeKernels(found []kernels.Kernel) error {
	doc := report.KernelsDocument{Schema: report.Schema, Kernels: []report.KernelEntry{}}
	for _, k := range found {
		doc.Kernels = append(doc.Kernels, report.KernelEntry{Name: k.ID, Release: k.Release, Arch: k.Arch, Path: k.Path, Place: k.Place.Title})
	}
	if c.json {
		return report.WriteJSON(c.stdout, doc)
	}
	if len(found) == 0 {
		c.note("no kernels are known by name: bpfrun kernels add FILE, or %s=DIRECTORY", kernels.Variable)
		return nil
	}
	return report.WriteKernels(c.stdout, doc.Kernels)
}

func (c *kernelsCommand) addKernels(files []string, as string) error {
	if as != "" && len(files) > 1 {
		return usagef("--as names one kernel, but there are %d files", len(files))
	}
	path := c.kernels.kernelPath()
	var added []kernels.Kernel
	var errs []error
	for _, f := range files {
		list, modules, err := path.Add(f, as)
		if modules > 0 {
			c.note("%s: the types of %d modules are kept; --module-btf NAME uses them", filepath.Base(f), modules)
		}
		added = append(added, list...)
		if err != nil {
			errs = append(errs, fmt.Errorf("kernels add %w", err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		if len(added) > 0 && !c.json {
			err = errors.Join(c.writeKernels(added), err)
		}
		return usageError{err}
	}
	return c.writeKernels(added)
}
