package hook

// syscallTable has a line per system call: name, its number on x86-64, on arm64 and riscv (the
// generic table), on arm, then its arguments as name:kind:type. Kinds: i signed and u unsigned
// number, s string in user memory, v vector of strings, a socket address, p other user pointer. The
// type is what the format of the call's event says, with dots for blanks; without one, neither
// release has the event. "-" is a call an architecture has not. Sources: asm/unistd.h,
// include/linux/syscalls.h, the formats of the events of Linux 6.1 and 6.12 on amd64.
const syscallTable = `
_sysctl 156 - 149
accept 43 202 285 fd:i:int upeer_sockaddr:a:struct.sockaddr.* upeer_addrlen:p:int.*
accept4 288 242 366 fd:i:int upeer_sockaddr:a:struct.sockaddr.* upeer_addrlen:p:int.* flags:i:int
access 21 - 33 filename:s:const.char.* mode:i:int
acct 163 89 51 name:s:const.char.*
add_key 248 217 309 _type:s:const.char.* _description:s:const.char.* _payload:p:const.void.* plen:u:size_t ringid:i:key_serial_t
adjtimex 159 171 124 txc_p:p:struct.__kernel_timex.*
afs_syscall 183 - -
alarm 37 - - seconds:u:unsigned.int
arch_prctl 158 - - option:i:int arg2:u:unsigned.long
bind 49 200 282 fd:i:int umyaddr:a:struct.sockaddr.* addrlen:i:int
bpf 321 280 386 cmd:i:int uattr:p:union.bpf_attr.* size:u:unsigned.int
brk 12 214 45 brk:u:unsigned.long
cachestat 451 451 451 fd:u:unsigned.int cstat_range:p:struct.cachestat_range.* cstat:p:struct.cachestat.* flags:u:unsigned.int
capget 125 90 184 header:u:cap_user_header_t dataptr:u:cap_user_data_t
capset 126 91 185 header:u:cap_user_header_t data:u:const.cap_user_data_t
chdir 80 49 12 filename:s:const.char.*
chmod 90 - 15 filename:s:const.char.* mode:u:umode_t
chown 92 - 182 filename:s:const.char.* user:u:uid_t group:u:gid_t
chroot 161 51 61 filename:s:const.char.*
clock_adjtime 305 266 372 which_clock:i:const.clockid_t utx:p:struct.__kernel_timex.*
clock_getres 229 114 264 which_clock:i:const.clockid_t tp:p:struct.__kernel_timespec.*
clock_gettime 228 113 263 which_clock:i:const.clockid_t tp:p:struct.__kernel_timespec.*
clock_nanosleep 230 115 265 which_clock:i:const.clockid_t flags:i:int rqtp:p:const.struct.__kernel_timespec.* rmtp:p:struct.__kernel_timespec.*
clock_settime 227 112 262 which_clock:i:const.clockid_t tp:p:const.struct.__kernel_timespec.*
clone 56 220 120 clone_flags:u:unsigned.long newsp:u:unsigned.long parent_tidptr:p:int.* child_tidptr:p:int.* tls:u:unsigned.long
clone3 435 435 435 uargs:p:struct.clone_args.* size:u:size_t
close 3 57 6 fd:u:unsigned.int
close_range 436 436 436 fd:u:unsigned.int max_fd:u:unsigned.int flags:u:unsigned.int
connect 42 203 283 fd:i:int uservaddr:a:struct.sockaddr.* addrlen:i:int
copy_file_range 326 285 391 fd_in:i:int off_in:p:loff_t.* fd_out:i:int off_out:p:loff_t.* len:u:size_t flags:u:unsigned.int
creat 85 - 8 pathname:s:const.char.* mode:u:umode_t
create_module 174 - -
delete_module 176 106 129 name_user:s:const.char.* flags:u:unsigned.int
dup 32 23 41 fildes:u:unsigned.int
dup2 33 - 63 oldfd:u:unsigned.int newfd:u:unsigned.int
dup3 292 24 358 oldfd:u:unsigned.int newfd:u:unsigned.int flags:i:int
epoll_create 213 - 250 size:i:int
epoll_create1 291 20 357 flags:i:int
epoll_ctl 233 21 251 epfd:i:int op:i:int fd:i:int event:p:struct.epoll_event.*
epoll_ctl_old 214 - -
epoll_pwait 281 22 346 epfd:i:int events:p:struct.epoll_event.* maxevents:i:int timeout:i:int sigmask:p:const.sigset_t.* sigsetsize:u:size_t
epoll_pwait2 441 441 441 epfd:i:int events:p:struct.epoll_event.* maxevents:i:int timeout:p:const.struct.__kernel_timespec.* sigmask:p:const.sigset_t.* sigsetsize:u:size_t
epoll_wait 232 - 252 epfd:i:int events:p:struct.epoll_event.* maxevents:i:int timeout:i:int
epoll_wait_old 215 - -
eventfd 284 - 351 count:u:unsigned.int
eventfd2 290 19 356 count:u:unsigned.int flags:i:int
execve 59 221 11 filename:s:const.char.* argv:v:const.char.*const.* envp:v:const.char.*const.*
execveat 322 281 387 fd:i:int filename:s:const.char.* argv:v:const.char.*const.* envp:v:const.char.*const.* flags:i:int
exit 60 93 1 error_code:i:int
exit_group 231 94 248 error_code:i:int
faccessat 269 48 334 dfd:i:int filename:s:const.char.* mode:i:int
faccessat2 439 439 439 dfd:i:int filename:s:const.char.* mode:i:int flags:i:int
fadvise64 221 223 - fd:i:int offset:u:loff_t len:u:size_t advice:i:int
fallocate 285 47 352 fd:i:int mode:i:int offset:u:loff_t len:u:loff_t
fanotify_init 300 262 367 flags:u:unsigned.int event_f_flags:u:unsigned.int
fanotify_mark 301 263 368 fanotify_fd:i:int flags:u:unsigned.int mask:u:__u64 dfd:i:int pathname:s:const.char.*
fchdir 81 50 133 fd:u:unsigned.int
fchmod 91 52 94 fd:u:unsigned.int mode:u:umode_t
fchmodat 268 53 333 dfd:i:int filename:s:const.char.* mode:u:umode_t
fchmodat2 452 452 452 dfd:i:int filename:s:const.char.* mode:u:umode_t flags:u:unsigned.int
fchown 93 55 95 fd:u:unsigned.int user:u:uid_t group:u:gid_t
fchownat 260 54 325 dfd:i:int filename:s:const.char.* user:u:uid_t group:u:gid_t flag:i:int
fcntl 72 25 55 fd:u:unsigned.int cmd:u:unsigned.int arg:u:unsigned.long
fdatasync 75 83 148 fd:u:unsigned.int
fgetxattr 193 10 231 fd:i:int name:s:const.char.* value:p:void.* size:u:size_t
file_getattr 468 468 468
file_setattr 469 469 469
finit_module 313 273 379 fd:i:int uargs:s:const.char.* flags:i:int
flistxattr 196 13 234 fd:i:int list:s:char.* size:u:size_t
flock 73 32 143 fd:u:unsigned.int cmd:u:unsigned.int
fork 57 - 2
fremovexattr 199 16 237 fd:i:int name:s:const.char.*
fsconfig 431 431 431 fd:i:int cmd:u:unsigned.int _key:s:const.char.* _value:p:const.void.* aux:i:int
fsetxattr 190 7 228 fd:i:int name:s:const.char.* value:p:const.void.* size:u:size_t flags:i:int
fsmount 432 432 432 fs_fd:i:int flags:u:unsigned.int attr_flags:u:unsigned.int
fsopen 430 430 430 _fs_name:s:const.char.* flags:u:unsigned.int
fspick 433 433 433 dfd:i:int path:s:const.char.* flags:u:unsigned.int
fstat 5 80 108 fd:u:unsigned.int statbuf:p:struct.stat.*
fstatfs 138 44 100 fd:u:unsigned.int buf:p:struct.statfs.*
fsync 74 82 118 fd:u:unsigned.int
ftruncate 77 46 93 fd:u:unsigned.int length:u:off_t
futex 202 98 240 uaddr:p:u32.* op:i:int val:u:u32 utime:p:const.struct.__kernel_timespec.* uaddr2:p:u32.* val3:u:u32
futex_requeue 456 456 456 waiters:p:struct.futex_waitv.* flags:u:unsigned.int nr_wake:i:int nr_requeue:i:int
futex_wait 455 455 455 uaddr:p:void.* val:u:unsigned.long mask:u:unsigned.long flags:u:unsigned.int timeout:p:struct.__kernel_timespec.* clockid:i:clockid_t
futex_waitv 449 449 449 waiters:p:struct.futex_waitv.* nr_futexes:u:unsigned.int flags:u:unsigned.int timeout:p:struct.__kernel_timespec.* clockid:i:clockid_t
futex_wake 454 454 454 uaddr:p:void.* mask:u:unsigned.long nr:i:int flags:u:unsigned.int
futimesat 261 - 326 dfd:i:int filename:s:const.char.* utimes:p:struct.__kernel_old_timeval.*
get_kernel_syms 177 - -
get_mempolicy 239 236 320 policy:p:int.* nmask:p:unsigned.long.* maxnode:u:unsigned.long addr:u:unsigned.long flags:u:unsigned.long
get_robust_list 274 100 339 pid:i:int head_ptr:p:struct.robust_list_head.*.* len_ptr:p:size_t.*
get_thread_area 211 - -
getcpu 309 168 345 cpup:p:unsigned.* nodep:p:unsigned.* unused:p:struct.getcpu_cache.*
getcwd 79 17 183 buf:s:char.* size:u:unsigned.long
getdents 78 - 141 fd:u:unsigned.int dirent:p:struct.linux_dirent.* count:u:unsigned.int
getdents64 217 61 217 fd:u:unsigned.int dirent:p:struct.linux_dirent64.* count:u:unsigned.int
getegid 108 177 50
geteuid 107 175 49
getgid 104 176 47
getgroups 115 158 80 gidsetsize:i:int grouplist:p:gid_t.*
getitimer 36 102 105 which:i:int value:p:struct.__kernel_old_itimerval.*
getpeername 52 205 287 fd:i:int usockaddr:a:struct.sockaddr.* usockaddr_len:p:int.*
getpgid 121 155 132 pid:i:pid_t
getpgrp 111 - 65
getpid 39 172 20
getpmsg 181 - -
getppid 110 173 64
getpriority 140 141 96 which:i:int who:i:int
getrandom 318 278 384 ubuf:s:char.* len:u:size_t flags:u:unsigned.int
getresgid 120 150 171 rgidp:p:gid_t.* egidp:p:gid_t.* sgidp:p:gid_t.*
getresuid 118 148 165 ruidp:p:uid_t.* euidp:p:uid_t.* suidp:p:uid_t.*
getrlimit 97 163 - resource:u:unsigned.int rlim:p:struct.rlimit.*
getrusage 98 165 77 who:i:int ru:p:struct.rusage.*
getsid 124 156 147 pid:i:pid_t
getsockname 51 204 286 fd:i:int usockaddr:a:struct.sockaddr.* usockaddr_len:p:int.*
getsockopt 55 209 295 fd:i:int level:i:int optname:i:int optval:s:char.* optlen:p:int.*
gettid 186 178 224
gettimeofday 96 169 78 tv:p:struct.__kernel_old_timeval.* tz:p:struct.timezone.*
getuid 102 174 24
getxattr 191 8 229 pathname:s:const.char.* name:s:const.char.* value:p:void.* size:u:size_t
getxattrat 464 464 464
init_module 175 105 128 umod:p:void.* len:u:unsigned.long uargs:s:const.char.*
inotify_add_watch 254 27 317 fd:i:int pathname:s:const.char.* mask:u:u32
inotify_init 253 - 316
inotify_init1 294 26 360 flags:i:int
inotify_rm_watch 255 28 318 fd:i:int wd:u:__s32
io_cancel 210 3 247 ctx_id:u:aio_context_t iocb:p:struct.iocb.* result:p:struct.io_event.*
io_destroy 207 1 244 ctx:u:aio_context_t
io_getevents 208 4 245 ctx_id:u:aio_context_t min_nr:u:long nr:u:long events:p:struct.io_event.* timeout:p:struct.__kernel_timespec.*
io_pgetevents 333 292 399 ctx_id:u:aio_context_t min_nr:u:long nr:u:long events:p:struct.io_event.* timeout:p:struct.__kernel_timespec.* usig:p:const.struct.__aio_sigset.*
io_setup 206 0 243 nr_events:u:unsigned ctxp:p:aio_context_t.*
io_submit 209 2 246 ctx_id:u:aio_context_t nr:u:long iocbpp:p:struct.iocb.*.*
io_uring_enter 426 426 426 fd:u:unsigned.int to_submit:u:u32 min_complete:u:u32 flags:u:u32 argp:p:const.void.* argsz:u:size_t
io_uring_register 427 427 427 fd:u:unsigned.int opcode:u:unsigned.int arg:p:void.* nr_args:u:unsigned.int
io_uring_setup 425 425 425 entries:u:u32 params:p:struct.io_uring_params.*
ioctl 16 29 54 fd:u:unsigned.int cmd:u:unsigned.int arg:u:unsigned.long
ioperm 173 - - from:u:unsigned.long num:u:unsigned.long turn_on:i:int
iopl 172 - - level:u:unsigned.int
ioprio_get 252 31 315 which:i:int who:i:int
ioprio_set 251 30 314 which:i:int who:i:int ioprio:i:int
kcmp 312 272 378 pid1:i:pid_t pid2:i:pid_t type:i:int idx1:u:unsigned.long idx2:u:unsigned.long
kexec_file_load 320 294 401 kernel_fd:i:int initrd_fd:i:int cmdline_len:u:unsigned.long cmdline_ptr:s:const.char.* flags:u:unsigned.long
kexec_load 246 104 347 entry:u:unsigned.long nr_segments:u:unsigned.long segments:p:struct.kexec_segment.* flags:u:unsigned.long
keyctl 250 219 311 option:i:int arg2:u:unsigned.long arg3:u:unsigned.long arg4:u:unsigned.long arg5:u:unsigned.long
kill 62 129 37 pid:i:pid_t sig:i:int
landlock_add_rule 445 445 445 ruleset_fd:i:const.int rule_type:u:const.enum.landlock_rule_type rule_attr:p:const.void.*const flags:u:const.__u32
landlock_create_ruleset 444 444 444 attr:p:const.struct.landlock_ruleset_attr.*const size:u:const.size_t flags:u:const.__u32
landlock_restrict_self 446 446 446 ruleset_fd:i:const.int flags:u:const.__u32
lchown 94 - 16 filename:s:const.char.* user:u:uid_t group:u:gid_t
lgetxattr 192 9 230 pathname:s:const.char.* name:s:const.char.* value:p:void.* size:u:size_t
link 86 - 9 oldname:s:const.char.* newname:s:const.char.*
linkat 265 37 330 olddfd:i:int oldname:s:const.char.* newdfd:i:int newname:s:const.char.* flags:i:int
listen 50 201 284 fd:i:int backlog:i:int
listmount 458 458 458 req:p:const.struct.mnt_id_req.* mnt_ids:p:u64.* nr_mnt_ids:u:size_t flags:u:unsigned.int
listns 470 470 470
listxattr 194 11 232 pathname:s:const.char.* list:s:char.* size:u:size_t
listxattrat 465 465 465
llistxattr 195 12 233 pathname:s:const.char.* list:s:char.* size:u:size_t
lookup_dcookie 212 18 249 cookie64:u buf:s len:u
lremovexattr 198 15 236 pathname:s:const.char.* name:s:const.char.*
lseek 8 62 19 fd:u:unsigned.int offset:u:off_t whence:u:unsigned.int
lsetxattr 189 6 227 pathname:s:const.char.* name:s:const.char.* value:p:const.void.* size:u:size_t flags:i:int
lsm_get_self_attr 459 459 459 attr:u:unsigned.int ctx:p:struct.lsm_ctx.* size:p:u32.* flags:u:u32
lsm_list_modules 461 461 461 ids:p:u64.* size:p:u32.* flags:u:u32
lsm_set_self_attr 460 460 460 attr:u:unsigned.int ctx:p:struct.lsm_ctx.* size:u:u32 flags:u:u32
lstat 6 - 107 filename:s:const.char.* statbuf:p:struct.stat.*
madvise 28 233 220 start:u:unsigned.long len_in:u:size_t behavior:i:int
map_shadow_stack 453 453 453 addr:u:unsigned.long size:u:unsigned.long flags:u:unsigned.int
mbind 237 235 319 start:u:unsigned.long len:u:unsigned.long mode:u:unsigned.long nmask:p:const.unsigned.long.* maxnode:u:unsigned.long flags:u:unsigned.int
membarrier 324 283 389 cmd:i:int flags:u:unsigned.int cpu_id:i:int
memfd_create 319 279 385 uname:s:const.char.* flags:u:unsigned.int
memfd_secret 447 447 - flags:u:unsigned.int
migrate_pages 256 238 400 pid:i:pid_t maxnode:u:unsigned.long old_nodes:p:const.unsigned.long.* new_nodes:p:const.unsigned.long.*
mincore 27 232 219 start:u:unsigned.long len:u:size_t vec:s:unsigned.char.*
mkdir 83 - 39 pathname:s:const.char.* mode:u:umode_t
mkdirat 258 34 323 dfd:i:int pathname:s:const.char.* mode:u:umode_t
mknod 133 - 14 filename:s:const.char.* mode:u:umode_t dev:u:unsigned
mknodat 259 33 324 dfd:i:int filename:s:const.char.* mode:u:umode_t dev:u:unsigned.int
mlock 149 228 150 start:u:unsigned.long len:u:size_t
mlock2 325 284 390 start:u:unsigned.long len:u:size_t flags:i:int
mlockall 151 230 152 flags:i:int
mmap 9 222 - addr:u:unsigned.long len:u:unsigned.long prot:u:unsigned.long flags:u:unsigned.long fd:u:unsigned.long off:u:unsigned.long
modify_ldt 154 - - func:i:int ptr:p:void.* bytecount:u:unsigned.long
mount 165 40 21 dev_name:s:char.* dir_name:s:char.* type:s:char.* flags:u:unsigned.long data:p:void.*
mount_setattr 442 442 442 dfd:i:int path:s:const.char.* flags:u:unsigned.int uattr:p:struct.mount_attr.* usize:u:size_t
move_mount 429 429 429 from_dfd:i:int from_pathname:s:const.char.* to_dfd:i:int to_pathname:s:const.char.* flags:u:unsigned.int
move_pages 279 239 344 pid:i:pid_t nr_pages:u:unsigned.long pages:p:const.void.*.* nodes:p:const.int.* status:p:int.* flags:i:int
mprotect 10 226 125 start:u:unsigned.long len:u:size_t prot:u:unsigned.long
mq_getsetattr 245 185 279 mqdes:i:mqd_t u_mqstat:p:const.struct.mq_attr.* u_omqstat:p:struct.mq_attr.*
mq_notify 244 184 278 mqdes:i:mqd_t u_notification:p:const.struct.sigevent.*
mq_open 240 180 274 u_name:s:const.char.* oflag:i:int mode:u:umode_t u_attr:p:struct.mq_attr.*
mq_timedreceive 243 183 277 mqdes:i:mqd_t u_msg_ptr:s:char.* msg_len:u:size_t u_msg_prio:p:unsigned.int.* u_abs_timeout:p:const.struct.__kernel_timespec.*
mq_timedsend 242 182 276 mqdes:i:mqd_t u_msg_ptr:s:const.char.* msg_len:u:size_t msg_prio:u:unsigned.int u_abs_timeout:p:const.struct.__kernel_timespec.*
mq_unlink 241 181 275 u_name:s:const.char.*
mremap 25 216 163 addr:u:unsigned.long old_len:u:unsigned.long new_len:u:unsigned.long flags:u:unsigned.long new_addr:u:unsigned.long
mseal 462 462 462 start:u:unsigned.long len:u:size_t flags:u:unsigned.long
msgctl 71 187 304 msqid:i:int cmd:i:int buf:p:struct.msqid_ds.*
msgget 68 186 303 key:i:key_t msgflg:i:int
msgrcv 70 188 302 msqid:i:int msgp:p:struct.msgbuf.* msgsz:u:size_t msgtyp:u:long msgflg:i:int
msgsnd 69 189 301 msqid:i:int msgp:p:struct.msgbuf.* msgsz:u:size_t msgflg:i:int
msync 26 227 144 start:u:unsigned.long len:u:size_t flags:i:int
munlock 150 229 151 start:u:unsigned.long len:u:size_t
munlockall 152 231 153
munmap 11 215 91 addr:u:unsigned.long len:u:size_t
name_to_handle_at 303 264 370 dfd:i:int name:s:const.char.* handle:p:struct.file_handle.* mnt_id:p:void.* flag:i:int
nanosleep 35 101 162 rqtp:p:struct.__kernel_timespec.* rmtp:p:struct.__kernel_timespec.*
newfstatat 262 79 - dfd:i:int filename:s:const.char.* statbuf:p:struct.stat.* flag:i:int
nfsservctl 180 42 169
open 2 - 5 filename:s:const.char.* flags:i:int mode:u:umode_t
open_by_handle_at 304 265 371 mountdirfd:i:int handle:p:struct.file_handle.* flags:i:int
open_tree 428 428 428 dfd:i:int filename:s:const.char.* flags:u:unsigned
open_tree_attr 467 467 467
openat 257 56 322 dfd:i:int filename:s:const.char.* flags:i:int mode:u:umode_t
openat2 437 437 437 dfd:i:int filename:s:const.char.* how:p:struct.open_how.* usize:u:size_t
pause 34 - 29
perf_event_open 298 241 364 attr_uptr:p:struct.perf_event_attr.* pid:i:pid_t cpu:i:int group_fd:i:int flags:u:unsigned.long
personality 135 92 136 personality:u:unsigned.int
pidfd_getfd 438 438 438 pidfd:i:int fd:i:int flags:u:unsigned.int
pidfd_open 434 434 434 pid:i:pid_t flags:u:unsigned.int
pidfd_send_signal 424 424 424 pidfd:i:int sig:i:int info:p:siginfo_t.* flags:u:unsigned.int
pipe 22 - 42 fildes:p:int.*
pipe2 293 59 359 fildes:p:int.* flags:i:int
pivot_root 155 41 218 new_root:s:const.char.* put_old:s:const.char.*
pkey_alloc 330 289 395 flags:u:unsigned.long init_val:u:unsigned.long
pkey_free 331 290 396 pkey:i:int
pkey_mprotect 329 288 394 start:u:unsigned.long len:u:size_t prot:u:unsigned.long pkey:i:int
poll 7 - 168 ufds:p:struct.pollfd.* nfds:u:unsigned.int timeout_msecs:i:int
ppoll 271 73 336 ufds:p:struct.pollfd.* nfds:u:unsigned.int tsp:p:struct.__kernel_timespec.* sigmask:p:const.sigset_t.* sigsetsize:u:size_t
prctl 157 167 172 option:i:int arg2:u:unsigned.long arg3:u:unsigned.long arg4:u:unsigned.long arg5:u:unsigned.long
pread64 17 67 180 fd:u:unsigned.int buf:s:char.* count:u:size_t pos:u:loff_t
preadv 295 69 361 fd:u:unsigned.long vec:p:const.struct.iovec.* vlen:u:unsigned.long pos_l:u:unsigned.long pos_h:u:unsigned.long
preadv2 327 286 392 fd:u:unsigned.long vec:p:const.struct.iovec.* vlen:u:unsigned.long pos_l:u:unsigned.long pos_h:u:unsigned.long flags:i:rwf_t
prlimit64 302 261 369 pid:i:pid_t resource:u:unsigned.int new_rlim:p:const.struct.rlimit64.* old_rlim:p:struct.rlimit64.*
process_madvise 440 440 440 pidfd:i:int vec:p:const.struct.iovec.* vlen:u:size_t behavior:i:int flags:u:unsigned.int
process_mrelease 448 448 448 pidfd:i:int flags:u:unsigned.int
process_vm_readv 310 270 376 pid:i:pid_t lvec:p:const.struct.iovec.* liovcnt:u:unsigned.long rvec:p:const.struct.iovec.* riovcnt:u:unsigned.long flags:u:unsigned.long
process_vm_writev 311 271 377 pid:i:pid_t lvec:p:const.struct.iovec.* liovcnt:u:unsigned.long rvec:p:const.struct.iovec.* riovcnt:u:unsigned.long flags:u:unsigned.long
pselect6 270 72 335 n:i:int inp:p:fd_set.* outp:p:fd_set.* exp:p:fd_set.* tsp:p:struct.__kernel_timespec.* sig:p:void.*
ptrace 101 117 26 request:u:long pid:u:long addr:u:unsigned.long data:u:unsigned.long
putpmsg 182 - -
pwrite64 18 68 181 fd:u:unsigned.int buf:s:const.char.* count:u:size_t pos:u:loff_t
pwritev 296 70 362 fd:u:unsigned.long vec:p:const.struct.iovec.* vlen:u:unsigned.long pos_l:u:unsigned.long pos_h:u:unsigned.long
pwritev2 328 287 393 fd:u:unsigned.long vec:p:const.struct.iovec.* vlen:u:unsigned.long pos_l:u:unsigned.long pos_h:u:unsigned.long flags:i:rwf_t
query_module 178 - -
quotactl 179 60 131 cmd:u:unsigned.int special:s:const.char.* id:i:qid_t addr:p:void.*
quotactl_fd 443 443 443 fd:u:unsigned.int cmd:u:unsigned.int id:i:qid_t addr:p:void.*
read 0 63 3 fd:u:unsigned.int buf:s:char.* count:u:size_t
readahead 187 213 225 fd:i:int offset:u:loff_t count:u:size_t
readlink 89 - 85 path:s:const.char.* buf:s:char.* bufsiz:i:int
readlinkat 267 78 332 dfd:i:int pathname:s:const.char.* buf:s:char.* bufsiz:i:int
readv 19 65 145 fd:u:unsigned.long vec:p:const.struct.iovec.* vlen:u:unsigned.long
reboot 169 142 88 magic1:i:int magic2:i:int cmd:u:unsigned.int arg:p:void.*
recvfrom 45 207 292 fd:i:int ubuf:p:void.* size:u:size_t flags:u:unsigned.int addr:a:struct.sockaddr.* addr_len:p:int.*
recvmmsg 299 243 365 fd:i:int mmsg:p:struct.mmsghdr.* vlen:u:unsigned.int flags:u:unsigned.int timeout:p:struct.__kernel_timespec.*
recvmsg 47 212 297 fd:i:int msg:p:struct.user_msghdr.* flags:u:unsigned.int
remap_file_pages 216 234 253 start:u:unsigned.long size:u:unsigned.long prot:u:unsigned.long pgoff:u:unsigned.long flags:u:unsigned.long
removexattr 197 14 235 pathname:s:const.char.* name:s:const.char.*
removexattrat 466 466 466
rename 82 - 38 oldname:s:const.char.* newname:s:const.char.*
renameat 264 38 329 olddfd:i:int oldname:s:const.char.* newdfd:i:int newname:s:const.char.*
renameat2 316 276 382 olddfd:i:int oldname:s:const.char.* newdfd:i:int newname:s:const.char.* flags:u:unsigned.int
request_key 249 218 310 _type:s:const.char.* _description:s:const.char.* _callout_info:s:const.char.* destringid:i:key_serial_t
restart_syscall 219 128 0
rmdir 84 - 40 pathname:s:const.char.*
rseq 334 293 398 rseq:p:struct.rseq.* rseq_len:u:u32 flags:i:int sig:u:u32
rseq_slice_yield 471 471 471
rt_sigaction 13 134 174 sig:i:int act:p:const.struct.sigaction.* oact:p:struct.sigaction.* sigsetsize:u:size_t
rt_sigpending 127 136 176 uset:p:sigset_t.* sigsetsize:u:size_t
rt_sigprocmask 14 135 175 how:i:int nset:p:sigset_t.* oset:p:sigset_t.* sigsetsize:u:size_t
rt_sigqueueinfo 129 138 178 pid:i:pid_t sig:i:int uinfo:p:siginfo_t.*
rt_sigreturn 15 139 173
rt_sigsuspend 130 133 179 unewset:p:sigset_t.* sigsetsize:u:size_t
rt_sigtimedwait 128 137 177 uthese:p:const.sigset_t.* uinfo:p:siginfo_t.* uts:p:const.struct.__kernel_timespec.* sigsetsize:u:size_t
rt_tgsigqueueinfo 297 240 363 tgid:i:pid_t pid:i:pid_t sig:i:int uinfo:p:siginfo_t.*
sched_get_priority_max 146 125 159 policy:i:int
sched_get_priority_min 147 126 160 policy:i:int
sched_getaffinity 204 123 242 pid:i:pid_t len:u:unsigned.int user_mask_ptr:p:unsigned.long.*
sched_getattr 315 275 381 pid:i:pid_t uattr:p:struct.sched_attr.* usize:u:unsigned.int flags:u:unsigned.int
sched_getparam 143 121 155 pid:i:pid_t param:p:struct.sched_param.*
sched_getscheduler 145 120 157 pid:i:pid_t
sched_rr_get_interval 148 127 161 pid:i:pid_t interval:p:struct.__kernel_timespec.*
sched_setaffinity 203 122 241 pid:i:pid_t len:u:unsigned.int user_mask_ptr:p:unsigned.long.*
sched_setattr 314 274 380 pid:i:pid_t uattr:p:struct.sched_attr.* flags:u:unsigned.int
sched_setparam 142 118 154 pid:i:pid_t param:p:struct.sched_param.*
sched_setscheduler 144 119 156 pid:i:pid_t policy:i:int param:p:struct.sched_param.*
sched_yield 24 124 158
seccomp 317 277 383 op:u:unsigned.int flags:u:unsigned.int uargs:p:void.*
security 185 - -
select 23 - - n:i:int inp:p:fd_set.* outp:p:fd_set.* exp:p:fd_set.* tvp:p:struct.__kernel_old_timeval.*
semctl 66 191 300 semid:i:int semnum:i:int cmd:i:int arg:u:unsigned.long
semget 64 190 299 key:i:key_t nsems:i:int semflg:i:int
semop 65 193 298 semid:i:int tsops:p:struct.sembuf.* nsops:u:unsigned
semtimedop 220 192 312 semid:i:int tsops:p:struct.sembuf.* nsops:u:unsigned.int timeout:p:const.struct.__kernel_timespec.*
sendfile 40 71 187 out_fd:i:int in_fd:i:int offset:p:loff_t.* count:u:size_t
sendmmsg 307 269 374 fd:i:int mmsg:p:struct.mmsghdr.* vlen:u:unsigned.int flags:u:unsigned.int
sendmsg 46 211 296 fd:i:int msg:p:struct.user_msghdr.* flags:u:unsigned.int
sendto 44 206 290 fd:i:int buff:p:void.* len:u:size_t flags:u:unsigned.int addr:a:struct.sockaddr.* addr_len:i:int
set_mempolicy 238 237 321 mode:i:int nmask:p:const.unsigned.long.* maxnode:u:unsigned.long
set_mempolicy_home_node 450 450 450 start:u:unsigned.long len:u:unsigned.long home_node:u:unsigned.long flags:u:unsigned.long
set_robust_list 273 99 338 head:p:struct.robust_list_head.* len:u:size_t
set_thread_area 205 - -
set_tid_address 218 96 256 tidptr:p:int.*
setdomainname 171 162 121 name:s:char.* len:i:int
setfsgid 123 152 139 gid:u:gid_t
setfsuid 122 151 138 uid:u:uid_t
setgid 106 144 46 gid:u:gid_t
setgroups 116 159 81 gidsetsize:i:int grouplist:p:gid_t.*
sethostname 170 161 74 name:s:char.* len:i:int
setitimer 38 103 104 which:i:int value:p:struct.__kernel_old_itimerval.* ovalue:p:struct.__kernel_old_itimerval.*
setns 308 268 375 fd:i:int flags:i:int
setpgid 109 154 57 pid:i:pid_t pgid:i:pid_t
setpriority 141 140 97 which:i:int who:i:int niceval:i:int
setregid 114 143 71 rgid:u:gid_t egid:u:gid_t
setresgid 119 149 170 rgid:u:gid_t egid:u:gid_t sgid:u:gid_t
setresuid 117 147 164 ruid:u:uid_t euid:u:uid_t suid:u:uid_t
setreuid 113 145 70 ruid:u:uid_t euid:u:uid_t
setrlimit 160 164 75 resource:u:unsigned.int rlim:p:struct.rlimit.*
setsid 112 157 66
setsockopt 54 208 294 fd:i:int level:i:int optname:i:int optval:s:char.* optlen:i:int
settimeofday 164 170 79 tv:p:struct.__kernel_old_timeval.* tz:p:struct.timezone.*
setuid 105 146 23 uid:u:uid_t
setxattr 188 5 226 pathname:s:const.char.* name:s:const.char.* value:p:const.void.* size:u:size_t flags:i:int
setxattrat 463 463 463
shmat 30 196 305 shmid:i:int shmaddr:s:char.* shmflg:i:int
shmctl 31 195 308 shmid:i:int cmd:i:int buf:p:struct.shmid_ds.*
shmdt 67 197 306 shmaddr:s:char.*
shmget 29 194 307 key:i:key_t size:u:size_t shmflg:i:int
shutdown 48 210 293 fd:i:int how:i:int
sigaltstack 131 132 186 uss:p:const.stack_t.* uoss:p:stack_t.*
signalfd 282 - 349 ufd:i:int user_mask:p:sigset_t.* sizemask:u:size_t
signalfd4 289 74 355 ufd:i:int user_mask:p:sigset_t.* sizemask:u:size_t flags:i:int
socket 41 198 281 family:i:int type:i:int protocol:i:int
socketpair 53 199 288 family:i:int type:i:int protocol:i:int usockvec:p:int.*
splice 275 76 340 fd_in:i:int off_in:p:loff_t.* fd_out:i:int off_out:p:loff_t.* len:u:size_t flags:u:unsigned.int
stat 4 - 106 filename:s:const.char.* statbuf:p:struct.stat.*
statfs 137 43 99 pathname:s:const.char.* buf:p:struct.statfs.*
statmount 457 457 457 req:p:const.struct.mnt_id_req.* buf:p:struct.statmount.* bufsize:u:size_t flags:u:unsigned.int
statx 332 291 397 dfd:i:int filename:s:const.char.* flags:u:unsigned mask:u:unsigned.int buffer:p:struct.statx.*
swapoff 168 225 115 specialfile:s:const.char.*
swapon 167 224 87 specialfile:s:const.char.* swap_flags:i:int
symlink 88 - 83 oldname:s:const.char.* newname:s:const.char.*
symlinkat 266 36 331 oldname:s:const.char.* newdfd:i:int newname:s:const.char.*
sync 162 81 36
sync_file_range 277 84 - fd:i:int offset:u:loff_t nbytes:u:loff_t flags:u:unsigned.int
syncfs 306 267 373 fd:i:int
sysfs 139 - 135 option:i:int arg1:u:unsigned.long arg2:u:unsigned.long
sysinfo 99 179 116 info:p:struct.sysinfo.*
syslog 103 116 103 type:i:int buf:s:char.* len:i:int
tee 276 77 342 fdin:i:int fdout:i:int len:u:size_t flags:u:unsigned.int
tgkill 234 131 268 tgid:i:pid_t pid:i:pid_t sig:i:int
time 201 - - tloc:p:__kernel_old_time_t.*
timer_create 222 107 257 which_clock:i:const.clockid_t timer_event_spec:p:struct.sigevent.* created_timer_id:p:timer_t.*
timer_delete 226 111 261 timer_id:i:timer_t
timer_getoverrun 225 109 260 timer_id:i:timer_t
timer_gettime 224 108 259 timer_id:i:timer_t setting:p:struct.__kernel_itimerspec.*
timer_settime 223 110 258 timer_id:i:timer_t flags:i:int new_setting:p:const.struct.__kernel_itimerspec.* old_setting:p:struct.__kernel_itimerspec.*
timerfd_create 283 85 350 clockid:i:int flags:i:int
timerfd_gettime 287 87 354 ufd:i:int otmr:p:struct.__kernel_itimerspec.*
timerfd_settime 286 86 353 ufd:i:int flags:i:int utmr:p:const.struct.__kernel_itimerspec.* otmr:p:struct.__kernel_itimerspec.*
times 100 153 43 tbuf:p:struct.tms.*
tkill 200 130 238 pid:i:pid_t sig:i:int
truncate 76 45 92 path:s:const.char.* length:u:long
tuxcall 184 - -
umask 95 166 60 mask:i:int
umount2 166 39 52 name:s:char.* flags:i:int
uname 63 160 122 name:p:struct.new_utsname.*
unlink 87 - 10 pathname:s:const.char.*
unlinkat 263 35 328 dfd:i:int pathname:s:const.char.* flag:i:int
unshare 272 97 337 unshare_flags:u:unsigned.long
uprobe 336 - -
uretprobe 335 - -
uselib 134 - 86 library:s
userfaultfd 323 282 388 flags:i:int
ustat 136 - 62 dev:u:unsigned ubuf:p:struct.ustat.*
utime 132 - - filename:s:char.* times:p:struct.utimbuf.*
utimensat 280 88 348 dfd:i:int filename:s:const.char.* utimes:p:struct.__kernel_timespec.* flags:i:int
utimes 235 - 269 filename:s:char.* utimes:p:struct.__kernel_old_timeval.*
vfork 58 - 190
vhangup 153 58 111
vmsplice 278 75 343 fd:i:int uiov:p:const.struct.iovec.* nr_segs:u:unsigned.long flags:u:unsigned.int
vserver 236 - 313
wait4 61 260 114 upid:i:pid_t stat_addr:p:int.* options:i:int ru:p:struct.rusage.*
waitid 247 95 280 which:i:int upid:i:pid_t infop:p:struct.siginfo.* options:i:int ru:p:struct.rusage.*
write 1 64 4 fd:u:unsigned.int buf:s:const.char.* count:u:size_t
writev 20 66 146 fd:u:unsigned.long vec:p:const.struct.iovec.* vlen:u:unsigned.long
`
