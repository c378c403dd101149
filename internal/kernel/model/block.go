package model

import "github.com/bpfrun/bpfrun/internal/kernel/object"

// Numbers of the default disk, a power of two of sectors with one partition.
const (
	partitionStart = 2048 // in sectors of 512 bytes, as partitioning tools align it
	partitionSize  = 1 << 25
	blockNode      = 0o060600 // S_IFBLK
)

// fillRequest sets a block request's disk, position and size.
func (m *Model) fillRequest(b object.Builder) {
	bytes := 512 * b.Within("sectors", 8, 248)
	b.Num("cmd_flags", b.Within("op", 0, 2)) // REQ_OP_READ, REQ_OP_WRITE
	b.Num("rq_flags", 0)
	b.Num("tag", b.Within("tag", 0, 64))
	b.Num("internal_tag", b.Within("tag", 0, 64))
	b.Num("__data_len", bytes)
	b.Num("__sector", b.Within("sector", partitionStart, 1<<24))
	b.Num("start_time_ns", m.Began().Mono()-min(b.Within("start", 100_000, 10_000_000), m.Began().Mono()))
	b.Num("io_start_time_ns", m.Began().Mono()-min(b.Within("issue", 10_000, 90_000), m.Began().Mono()))
	b.Num("nr_phys_segments", 1)
	b.Num("state", 1)
	b.Ptr("q", m.requestQueue())
	b.Ptr("rq_disk", m.disk())
	b.Ptr("part", m.blockDevice())
	b.Child("bio")
	b.Null("end_io end_io_data rq_next")
}

// disk, its queue and its first partition are shared by all requests.
func (m *Model) disk() *object.Object {
	return m.Builtin("disk sda", "gendisk")
}

func (m *Model) requestQueue() *object.Object {
	return m.Builtin("queue of sda", "request_queue")
}

func (m *Model) blockDevice() *object.Object {
	return m.Builtin("partition sda1", "block_device")
}

// wholeDisk is the disk's block device, its partition 0.
func (m *Model) wholeDisk() *object.Object {
	return m.Builtin(wholeRole, "block_device")
}

const wholeRole = "partition sda"

// writeBack is what writes pages back to the disk.
func (m *Model) writeBack() *object.Object {
	return m.Builtin("bdi of sda", "backing_dev_info")
}

// fillQueue gives a queue the limits of a disk with sectors of 512 bytes (blk_set_default_limits).
func (m *Model) fillQueue(b object.Builder) {
	b.Ptr("disk", m.disk())
	b.Ptr("backing_dev_info", m.writeBack()) // until 5.15
	b.Num("nr_hw_queues", 1)
	b.Num("nr_requests", 64)
	b.Num("queue_depth", 32)
	b.Num("id", b.Within("id", 0, 8))
	for _, size := range [...]string{"logical_block_size", "physical_block_size", "io_min"} {
		b.Num("limits."+size, 512)
	}
	for _, most := range [...]string{"max_hw_sectors", "max_sectors"} {
		b.Num("limits."+most, 2560)
	}
	b.Num("limits.max_segments", 128)
	b.Num("limits.max_segment_size", 1<<16)
	b.Num("mq_freeze_depth", 0)
	b.Null("queuedata td elevator")
}

// fillDisk makes a disk of itself and one partition (device_add_disk).
func (m *Model) fillDisk(b object.Builder) {
	b.Text("disk_name", "sda")
	b.Num("major", DiskMajor)
	b.Num("first_minor", 0)
	b.Num("minors", 16)
	b.Ptr("queue", m.requestQueue())
	b.Ptr("bdi", m.writeBack()) // since 5.16
	if f, ok := b.Field("part0"); ok && object.Target(f.Spec, f.Type).Fine {
		b.Ptr("part0", m.wholeDisk())
	}
	b.Num("part0.__dev.devt|part0.bd_device.devt", KernelDev(DiskMajor, 0))
	for number, o := range [...]*object.Object{m.wholeDisk(), diskMinor: m.blockDevice()} {
		if o != nil {
			b.Index("part_tbl", 0, uint64(number), o.Addr())
		}
	}
	b.Num("open_partitions", 1)
	b.Null("private_data")
}

// fillBlockDevice makes a block device the whole disk or its partition, which the file system
// holds. It is allocated with its inode (bdev_alloc).
func (m *Model) fillBlockDevice(b object.Builder) {
	b = b.As("block_device")
	number, name := uint64(diskMinor), "sda1"
	whole := b.Object.Role() == wholeRole
	if whole {
		number, name = 0, "sda"
		b.Num("bd_start_sect", 0)
		b.Num("bd_nr_sectors", partitionStart+partitionSize)
		b.Null("bd_holder bd_holder_ops")
		b.Num("bd_openers.counter|bd_openers", 0)
		b.Num("bd_holders", 0)
	} else {
		b.Num("bd_start_sect", partitionStart)
		b.Num("bd_nr_sectors", partitionSize)
		b.Num("bd_openers.counter|bd_openers", 1)
		b.Num("bd_holders", 1)
		sb := m.superBlock()
		if _, told := b.Field("bd_holder_ops"); told { // since 6.5; before, the holder is the type
			b.Ptr("bd_holder", sb)
		} else if sb != nil {
			b.Num("bd_holder", sb.Num("s_type"))
		}
		if w := m.wholeDisk(); w != nil && w != b.Object {
			b.Num("bd_device.parent", memberAddr(w, "bd_device"))
		}
	}
	b.Num("bd_dev", KernelDev(DiskMajor, number))
	b.Num("bd_partno", number)
	b.Num("__bd_flags.counter", number) // the lowest byte is the partition's number, since 6.10
	b.Ptr("bd_disk", m.disk())
	b.Ptr("bd_queue", m.requestQueue())
	b.Ptr("bd_bdi", m.writeBack())
	b.Num("bd_device.devt", KernelDev(DiskMajor, number))
	b.Text("bd_device.kobj.name", name)
	b.Ptr("bd_device.class", m.Builtin("block_class", "class"))
	b.Null("bd_claiming bd_security bd_meta_info")
	m.fillDeviceInode(b, number)
}

// fillDeviceInode makes the inode after a block device that of the file system of block devices.
func (m *Model) fillDeviceInode(b object.Builder, number uint64) {
	if l := b.Object.Storage(); l == nil || l.Name != "bdev_inode" {
		return
	}
	in := b.As("bdev_inode")
	m.fillAllocatedInode(in, blockNode, KernelDev(DiskMajor, number), "bdev")
	in.Num("vfs_inode.i_rdev", KernelDev(DiskMajor, number))
	in.Num("vfs_inode.i_size", 512*(partitionStart+partitionSize))
	b.Num("bd_inode", in.AddrOf("vfs_inode")) // until 6.9
	b.Num("bd_mapping", in.AddrOf("vfs_inode.i_data"))
}

// deviceFile makes a file that of the open block device (bdev_file_open_by_dev, since 6.9).
func (m *Model) deviceFile(file, disk *object.Object) {
	if file == nil || disk == nil {
		return
	}
	file.Populate()
	f := object.Fill(file)
	pages := disk.Num("bd_mapping|bd_inode.i_mapping")
	if pages == 0 {
		return
	}
	f.Num("f_mapping", pages)
	f.Num("f_inode", disk.Num("bd_mapping.host|bd_inode"))
}

// fillBDI makes what writes back lead to itself, with nothing to write.
func (m *Model) fillBDI(b object.Builder) {
	b.Ptr("wb.bdi", b.Object)
	b.AppendTo("wb_list", b, "wb.bdi_node")
	b.Num("refcnt.refcount.refs.counter", 2)
	b.Num("min_ratio", 0)
	b.Num("max_ratio", 100)
	b.Num("ra_pages", 32)
	b.Text("dev_name", "8:0")
}

func (m *Model) fillBio(b object.Builder) {
	b.Ptr("bi_bdev", m.blockDevice())
	b.Ptr("bi_disk", m.disk())
	b.Num("bi_partno", diskMinor)
	b.Num("bi_opf", b.Within("op", 0, 2))
	b.Num("bi_flags", 0)
	b.Num("bi_status", 0)
	b.Num("bi_vcnt", 1)
	b.Num("bi_iter.bi_size", 512*b.Within("sectors", 8, 248))
	b.Num("bi_iter.bi_sector", b.Within("sector", partitionStart, 1<<24))
	b.Num("bi_iter.bi_idx", 0)
	b.Null("bi_next bi_private bi_blkg bi_crypt_context bi_integrity")
}
