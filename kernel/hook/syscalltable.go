package hook

// syscallTable has a line per system call: name, its number on x86-64, on arm64 and riscv (the generic table), on arm, then
// its arguments as name:kind. Kinds: i signed and u unsigned number, s string in user memory, v vector of strings, a socket
// address, p other user pointer. "-" is a call an architecture has not. Sources: asm/unistd.h, include/linux/syscalls.h.
const syscallTable = `
_sysctl 156 - 149
accept 43 202 285 fd:i upeer_sockaddr:a upeer_addrlen:p
accept4 288 242 366 fd:i upeer_sockaddr:a upeer_addrlen:p flags:i
access 21 - 33 filename:s mode:i
acct 163 89 51 name:s
add_key 248 217 309 _type:s _description:s _payload:p plen:u destringid:i
adjtimex 159 171 124 txc_p:p
afs_syscall 183 - -
alarm 37 - - seconds:u
arch_prctl 158 - - option:i arg2:u
bind 49 200 282 fd:i umyaddr:a addrlen:i
bpf 321 280 386 cmd:i uattr:p size:u
brk 12 214 45 brk:u
cachestat 451 451 451 fd:u cstat_range:p cstat:p flags:u
capget 125 90 184 header:u dataptr:u
capset 126 91 185 header:u data:u
chdir 80 49 12 filename:s
chmod 90 - 15 filename:s mode:u
chown 92 - 182 filename:s user:u group:u
chroot 161 51 61 filename:s
clock_adjtime 305 266 372 which_clock:i tx:p
clock_getres 229 114 264 which_clock:i tp:p
clock_gettime 228 113 263 which_clock:i tp:p
clock_nanosleep 230 115 265 which_clock:i flags:i rqtp:p rmtp:p
clock_settime 227 112 262 which_clock:i tp:p
clone 56 220 120 clone_flags:u newsp:u parent_tidptr:p child_tidptr:p tls:u
clone3 435 435 435 uargs:p size:u
close 3 57 6 fd:u
close_range 436 436 436 fd:u max_fd:u flags:u
connect 42 203 283 fd:i uservaddr:a addrlen:i
copy_file_range 326 285 391 fd_in:i off_in:p fd_out:i off_out:p len:u flags:u
creat 85 - 8 pathname:s mode:u
create_module 174 - -
delete_module 176 106 129 name_user:s flags:u
dup 32 23 41 fildes:u
dup2 33 - 63 oldfd:u newfd:u
dup3 292 24 358 oldfd:u newfd:u flags:i
epoll_create 213 - 250 size:i
epoll_create1 291 20 357 flags:i
epoll_ctl 233 21 251 epfd:i op:i fd:i event:p
epoll_ctl_old 214 - -
epoll_pwait 281 22 346 epfd:i events:p maxevents:i timeout:i sigmask:p sigsetsize:u
epoll_pwait2 441 441 441 epfd:i events:p maxevents:i timeout:p sigmask:p sigsetsize:u
epoll_wait 232 - 252 epfd:i events:p maxevents:i timeout:i
epoll_wait_old 215 - -
eventfd 284 - 351 count:u
eventfd2 290 19 356 count:u flags:i
execve 59 221 11 filename:s argv:v envp:v
execveat 322 281 387 dfd:i filename:s argv:v envp:v flags:i
exit 60 93 1 error_code:i
exit_group 231 94 248 error_code:i
faccessat 269 48 334 dfd:i filename:s mode:i
faccessat2 439 439 439 dfd:i filename:s mode:i flags:i
fadvise64 221 223 - fd:i offset:u len:u advice:i
fallocate 285 47 352 fd:i mode:i offset:u len:u
fanotify_init 300 262 367 flags:u event_f_flags:u
fanotify_mark 301 263 368 fanotify_fd:i flags:u mask:u fd:i pathname:s
fchdir 81 50 133 fd:u
fchmod 91 52 94 fd:u mode:u
fchmodat 268 53 333 dfd:i filename:s mode:u
fchmodat2 452 452 452 dfd:i filename:s mode:u flags:u
fchown 93 55 95 fd:u user:u group:u
fchownat 260 54 325 dfd:i filename:s user:u group:u flag:i
fcntl 72 25 55 fd:u cmd:u arg:u
fdatasync 75 83 148 fd:u
fgetxattr 193 10 231 fd:i name:s value:p size:u
file_getattr 468 468 468
file_setattr 469 469 469
finit_module 313 273 379 fd:i uargs:s flags:i
flistxattr 196 13 234 fd:i list:s size:u
flock 73 32 143 fd:u cmd:u
fork 57 - 2
fremovexattr 199 16 237 fd:i name:s
fsconfig 431 431 431 fs_fd:i cmd:u key:s value:p aux:i
fsetxattr 190 7 228 fd:i name:s value:p size:u flags:i
fsmount 432 432 432 fs_fd:i flags:u ms_flags:u
fsopen 430 430 430 fs_name:s flags:u
fspick 433 433 433 dfd:i path:s flags:u
fstat 5 80 108 fd:u statbuf:p
fstatfs 138 44 100 fd:u buf:p
fsync 74 82 118 fd:u
ftruncate 77 46 93 fd:u length:u
futex 202 98 240 uaddr:p op:i val:u utime:p uaddr2:p val3:u
futex_requeue 456 456 456 waiters:p flags:u nr_wake:i nr_requeue:i
futex_wait 455 455 455 uaddr:p val:u mask:u flags:u timespec:p clockid:i
futex_waitv 449 449 449 waiters:p nr_futexes:u flags:u timeout:p clockid:i
futex_wake 454 454 454 uaddr:p mask:u nr:i flags:u
futimesat 261 - 326 dfd:i filename:s utimes:p
get_kernel_syms 177 - -
get_mempolicy 239 236 320 policy:p nmask:p maxnode:u addr:u flags:u
get_robust_list 274 100 339 pid:i head_ptr:p len_ptr:p
get_thread_area 211 - -
getcpu 309 168 345 cpu:p node:p cache:p
getcwd 79 17 183 buf:s size:u
getdents 78 - 141 fd:u dirent:p count:u
getdents64 217 61 217 fd:u dirent:p count:u
getegid 108 177 50
geteuid 107 175 49
getgid 104 176 47
getgroups 115 158 80 gidsetsize:i grouplist:p
getitimer 36 102 105 which:i value:p
getpeername 52 205 287 arg1:i addr2:a ptr3:p
getpgid 121 155 132 pid:i
getpgrp 111 - 65
getpid 39 172 20
getpmsg 181 - -
getppid 110 173 64
getpriority 140 141 96 which:i who:i
getrandom 318 278 384 buf:s count:u flags:u
getresgid 120 150 171 rgid:p egid:p sgid:p
getresuid 118 148 165 ruid:p euid:p suid:p
getrlimit 97 163 - resource:u rlim:p
getrusage 98 165 77 who:i ru:p
getsid 124 156 147 pid:i
getsockname 51 204 286 arg1:i addr2:a ptr3:p
getsockopt 55 209 295 fd:i level:i optname:i optval:s optlen:p
gettid 186 178 224
gettimeofday 96 169 78 tv:p tz:p
getuid 102 174 24
getxattr 191 8 229 path:s name:s value:p size:u
getxattrat 464 464 464
init_module 175 105 128 umod:p len:u uargs:s
inotify_add_watch 254 27 317 fd:i path:s mask:u
inotify_init 253 - 316
inotify_init1 294 26 360 flags:i
inotify_rm_watch 255 28 318 fd:i wd:u
io_cancel 210 3 247 ctx_id:u iocb:p result:p
io_destroy 207 1 244 ctx:u
io_getevents 208 4 245 ctx_id:u min_nr:u nr:u events:p timeout:p
io_pgetevents 333 292 399 ctx_id:u min_nr:u nr:u events:p timeout:p sig:p
io_setup 206 0 243 nr_reqs:u ctx:p
io_submit 209 2 246 arg1:u arg2:u ptr3:p
io_uring_enter 426 426 426 fd:u to_submit:u min_complete:u flags:u argp:p argsz:u
io_uring_register 427 427 427 fd:u op:u arg:p nr_args:u
io_uring_setup 425 425 425 entries:u p:p
ioctl 16 29 54 fd:u cmd:u arg:u
ioperm 173 - - from:u num:u turn_on:i
iopl 172 - - level:u
ioprio_get 252 31 315 which:i who:i
ioprio_set 251 30 314 which:i who:i ioprio:i
kcmp 312 272 378 pid1:i pid2:i type:i idx1:u idx2:u
kexec_file_load 320 294 401 kernel_fd:i initrd_fd:i cmdline_len:u cmdline_ptr:s flags:u
kexec_load 246 104 347 entry:u nr_segments:u segments:p flags:u
keyctl 250 219 311 cmd:i arg2:u arg3:u arg4:u arg5:u
kill 62 129 37 pid:i sig:i
landlock_add_rule 445 445 445 ruleset_fd:i rule_type:u rule_attr:p flags:u
landlock_create_ruleset 444 444 444 attr:p size:u flags:u
landlock_restrict_self 446 446 446 ruleset_fd:i flags:u
lchown 94 - 16 filename:s user:u group:u
lgetxattr 192 9 230 path:s name:s value:p size:u
link 86 - 9 oldname:s newname:s
linkat 265 37 330 olddfd:i oldname:s newdfd:i newname:s flags:i
listen 50 201 284 fd:i backlog:i
listmount 458 458 458 req:p mnt_ids:p nr_mnt_ids:u flags:u
listns 470 470 470
listxattr 194 11 232 path:s list:s size:u
listxattrat 465 465 465
llistxattr 195 12 233 path:s list:s size:u
lookup_dcookie 212 18 249 cookie64:u buf:s len:u
lremovexattr 198 15 236 path:s name:s
lseek 8 62 19 fd:u offset:u whence:u
lsetxattr 189 6 227 path:s name:s value:p size:u flags:i
lsm_get_self_attr 459 459 459 attr:u ctx:p size:p flags:u
lsm_list_modules 461 461 461 ids:p size:p flags:u
lsm_set_self_attr 460 460 460 attr:u ctx:p size:u flags:u
lstat 6 - 107 filename:s statbuf:p
madvise 28 233 220 start:u len:u behavior:i
map_shadow_stack 453 453 453 addr:u size:u flags:u
mbind 237 235 319 start:u len:u mode:u nmask:p maxnode:u flags:u
membarrier 324 283 389 cmd:i flags:u cpu_id:i
memfd_create 319 279 385 uname_ptr:s flags:u
memfd_secret 447 447 - flags:u
migrate_pages 256 238 400 pid:i maxnode:u from:p to:p
mincore 27 232 219 start:u len:u vec:s
mkdir 83 - 39 pathname:s mode:u
mkdirat 258 34 323 dfd:i pathname:s mode:u
mknod 133 - 14 filename:s mode:u dev:u
mknodat 259 33 324 dfd:i filename:s mode:u dev:u
mlock 149 228 150 start:u len:u
mlock2 325 284 390 start:u len:u flags:i
mlockall 151 230 152 flags:i
mmap 9 222 - addr:u len:u prot:u flags:u fd:u off:u
modify_ldt 154 - - func:i ptr:p bytecount:u
mount 165 40 21 dev_name:s dir_name:s type:s flags:u data:p
mount_setattr 442 442 442 dfd:i path:s flags:u uattr:p usize:u
move_mount 429 429 429 from_dfd:i from_path:s to_dfd:i to_path:s ms_flags:u
move_pages 279 239 344 pid:i nr_pages:u pages:p nodes:p status:p flags:i
mprotect 10 226 125 start:u len:u prot:u
mq_getsetattr 245 185 279 mqdes:i mqstat:p omqstat:p
mq_notify 244 184 278 mqdes:i notification:p
mq_open 240 180 274 name:s oflag:i mode:u attr:p
mq_timedreceive 243 183 277 mqdes:i msg_ptr:s msg_len:u msg_prio:p abs_timeout:p
mq_timedsend 242 182 276 mqdes:i msg_ptr:s msg_len:u msg_prio:u abs_timeout:p
mq_unlink 241 181 275 name:s
mremap 25 216 163 addr:u old_len:u new_len:u flags:u new_addr:u
mseal 462 462 462 start:u len:u flags:u
msgctl 71 187 304 msqid:i cmd:i buf:p
msgget 68 186 303 key:i msgflg:i
msgrcv 70 188 302 msqid:i msgp:p msgsz:u msgtyp:u msgflg:i
msgsnd 69 189 301 msqid:i msgp:p msgsz:u msgflg:i
msync 26 227 144 start:u len:u flags:i
munlock 150 229 151 start:u len:u
munlockall 152 231 153
munmap 11 215 91 addr:u len:u
name_to_handle_at 303 264 370 dfd:i name:s handle:p mnt_id:p flag:i
nanosleep 35 101 162 rqtp:p rmtp:p
newfstatat 262 79 - dfd:i filename:s statbuf:p flag:i
nfsservctl 180 42 169
open 2 - 5 filename:s flags:i mode:u
open_by_handle_at 304 265 371 mountdirfd:i handle:p flags:i
open_tree 428 428 428 dfd:i path:s flags:u
open_tree_attr 467 467 467
openat 257 56 322 dfd:i filename:s flags:i mode:u
openat2 437 437 437 dfd:i filename:s how:p size:u
pause 34 - 29
perf_event_open 298 241 364 attr_uptr:p pid:i cpu:i group_fd:i flags:u
personality 135 92 136 personality:u
pidfd_getfd 438 438 438 pidfd:i fd:i flags:u
pidfd_open 434 434 434 pid:i flags:u
pidfd_send_signal 424 424 424 pidfd:i sig:i info:p flags:u
pipe 22 - 42 fildes:p
pipe2 293 59 359 fildes:p flags:i
pivot_root 155 41 218 new_root:s put_old:s
pkey_alloc 330 289 395 flags:u init_val:u
pkey_free 331 290 396 pkey:i
pkey_mprotect 329 288 394 start:u len:u prot:u pkey:i
poll 7 - 168 ufds:p nfds:u timeout:i
ppoll 271 73 336 ptr1:p arg2:u ptr3:p ptr4:p arg5:u
prctl 157 167 172 option:i arg2:u arg3:u arg4:u arg5:u
pread64 17 67 180 fd:u buf:s count:u pos:u
preadv 295 69 361 fd:u vec:p vlen:u pos_l:u pos_h:u
preadv2 327 286 392 fd:u vec:p vlen:u pos_l:u pos_h:u flags:i
prlimit64 302 261 369 pid:i resource:u new_rlim:p old_rlim:p
process_madvise 440 440 440 pidfd:i vec:p vlen:u behavior:i flags:u
process_mrelease 448 448 448 pidfd:i flags:u
process_vm_readv 310 270 376 pid:i lvec:p liovcnt:u rvec:p riovcnt:u flags:u
process_vm_writev 311 271 377 pid:i lvec:p liovcnt:u rvec:p riovcnt:u flags:u
pselect6 270 72 335 arg1:i ptr2:p ptr3:p ptr4:p ptr5:p ptr6:p
ptrace 101 117 26 request:u pid:u addr:u data:u
putpmsg 182 - -
pwrite64 18 68 181 fd:u buf:s count:u pos:u
pwritev 296 70 362 fd:u vec:p vlen:u pos_l:u pos_h:u
pwritev2 328 287 393 fd:u vec:p vlen:u pos_l:u pos_h:u flags:i
query_module 178 - -
quotactl 179 60 131 cmd:u special:s id:i addr:p
quotactl_fd 443 443 443 fd:u cmd:u id:i addr:p
read 0 63 3 fd:u buf:s count:u
readahead 187 213 225 fd:i offset:u count:u
readlink 89 - 85 path:s buf:s bufsiz:i
readlinkat 267 78 332 dfd:i path:s buf:s bufsiz:i
readv 19 65 145 fd:u vec:p vlen:u
reboot 169 142 88 magic1:i magic2:i cmd:u arg:p
recvfrom 45 207 292 fd:i ubuf:p size:u flags:u addr:a addr_len:p
recvmmsg 299 243 365 fd:i msg:p vlen:u flags:u timeout:p
recvmsg 47 212 297 fd:i msg:p flags:u
remap_file_pages 216 234 253 start:u size:u prot:u pgoff:u flags:u
removexattr 197 14 235 path:s name:s
removexattrat 466 466 466
rename 82 - 38 oldname:s newname:s
renameat 264 38 329 olddfd:i oldname:s newdfd:i newname:s
renameat2 316 276 382 olddfd:i oldname:s newdfd:i newname:s flags:u
request_key 249 218 310 _type:s _description:s _callout_info:s destringid:i
restart_syscall 219 128 0
rmdir 84 - 40 pathname:s
rseq 334 293 398 rseq:p rseq_len:u flags:i sig:u
rseq_slice_yield 471 471 471
rt_sigaction 13 134 174 arg1:i ptr2:p ptr3:p arg4:u
rt_sigpending 127 136 176 set:p sigsetsize:u
rt_sigprocmask 14 135 175 how:i set:p oset:p sigsetsize:u
rt_sigqueueinfo 129 138 178 pid:i sig:i uinfo:p
rt_sigreturn 15 139 173
rt_sigsuspend 130 133 179 unewset:p sigsetsize:u
rt_sigtimedwait 128 137 177 uthese:p uinfo:p uts:p sigsetsize:u
rt_tgsigqueueinfo 297 240 363 tgid:i pid:i sig:i uinfo:p
sched_get_priority_max 146 125 159 policy:i
sched_get_priority_min 147 126 160 policy:i
sched_getaffinity 204 123 242 pid:i len:u user_mask_ptr:p
sched_getattr 315 275 381 pid:i attr:p size:u flags:u
sched_getparam 143 121 155 pid:i param:p
sched_getscheduler 145 120 157 pid:i
sched_rr_get_interval 148 127 161 pid:i interval:p
sched_setaffinity 203 122 241 pid:i len:u user_mask_ptr:p
sched_setattr 314 274 380 pid:i attr:p flags:u
sched_setparam 142 118 154 pid:i param:p
sched_setscheduler 144 119 156 pid:i policy:i param:p
sched_yield 24 124 158
seccomp 317 277 383 op:u flags:u uargs:p
security 185 - -
select 23 - - n:i inp:p outp:p exp:p tvp:p
semctl 66 191 300 semid:i semnum:i cmd:i arg:u
semget 64 190 299 key:i nsems:i semflg:i
semop 65 193 298 semid:i sops:p nsops:u
semtimedop 220 192 312 semid:i sops:p nsops:u timeout:p
sendfile 40 71 187 out_fd:i in_fd:i offset:p count:u
sendmmsg 307 269 374 fd:i msg:p vlen:u flags:u
sendmsg 46 211 296 fd:i msg:p flags:u
sendto 44 206 290 fd:i buff:p len:u flags:u addr:a addr_len:i
set_mempolicy 238 237 321 mode:i nmask:p maxnode:u
set_mempolicy_home_node 450 450 450 start:u len:u home_node:u flags:u
set_robust_list 273 99 338 head:p len:u
set_thread_area 205 - -
set_tid_address 218 96 256 tidptr:p
setdomainname 171 162 121 name:s len:i
setfsgid 123 152 139 gid:u
setfsuid 122 151 138 uid:u
setgid 106 144 46 gid:u
setgroups 116 159 81 gidsetsize:i grouplist:p
sethostname 170 161 74 name:s len:i
setitimer 38 103 104 which:i value:p ovalue:p
setns 308 268 375 fd:i nstype:i
setpgid 109 154 57 pid:i pgid:i
setpriority 141 140 97 which:i who:i niceval:i
setregid 114 143 71 rgid:u egid:u
setresgid 119 149 170 rgid:u egid:u sgid:u
setresuid 117 147 164 ruid:u euid:u suid:u
setreuid 113 145 70 ruid:u euid:u
setrlimit 160 164 75 resource:u rlim:p
setsid 112 157 66
setsockopt 54 208 294 fd:i level:i optname:i optval:s optlen:i
settimeofday 164 170 79 tv:p tz:p
setuid 105 146 23 uid:u
setxattr 188 5 226 path:s name:s value:p size:u flags:i
setxattrat 463 463 463
shmat 30 196 305 shmid:i shmaddr:s shmflg:i
shmctl 31 195 308 shmid:i cmd:i buf:p
shmdt 67 197 306 shmaddr:s
shmget 29 194 307 key:i size:u flag:i
shutdown 48 210 293 fd:i how:i
sigaltstack 131 132 186 uss:p uoss:p
signalfd 282 - 349 ufd:i user_mask:p sizemask:u
signalfd4 289 74 355 ufd:i user_mask:p sizemask:u flags:i
socket 41 198 281 family:i type:i protocol:i
socketpair 53 199 288 family:i type:i protocol:i usockvec:p
splice 275 76 340 fd_in:i off_in:p fd_out:i off_out:p len:u flags:u
stat 4 - 106 filename:s statbuf:p
statfs 137 43 99 path:s buf:p
statmount 457 457 457 req:p buf:p bufsize:u flags:u
statx 332 291 397 dfd:i filename:s flags:u mask:u buffer:p
swapoff 168 225 115 specialfile:s
swapon 167 224 87 specialfile:s swap_flags:i
symlink 88 - 83 old:s new:s
symlinkat 266 36 331 oldname:s newdfd:i newname:s
sync 162 81 36
sync_file_range 277 84 - fd:i offset:u nbytes:u flags:u
syncfs 306 267 373 fd:i
sysfs 139 - 135 option:i arg1:u arg2:u
sysinfo 99 179 116 info:p
syslog 103 116 103 type:i buf:s len:i
tee 276 77 342 fdin:i fdout:i len:u flags:u
tgkill 234 131 268 tgid:i pid:i sig:i
time 201 - - tloc:p
timer_create 222 107 257 which_clock:i timer_event_spec:p created_timer_id:p
timer_delete 226 111 261 timer_id:i
timer_getoverrun 225 109 260 timer_id:i
timer_gettime 224 108 259 timer_id:i setting:p
timer_settime 223 110 258 timer_id:i flags:i new_setting:p old_setting:p
timerfd_create 283 85 350 clockid:i flags:i
timerfd_gettime 287 87 354 ufd:i otmr:p
timerfd_settime 286 86 353 ufd:i flags:i utmr:p otmr:p
times 100 153 43 tbuf:p
tkill 200 130 238 pid:i sig:i
truncate 76 45 92 path:s length:u
tuxcall 184 - -
umask 95 166 60 mask:i
umount2 166 39 52 name:s flags:i
uname 63 160 122 ptr1:p
unlink 87 - 10 pathname:s
unlinkat 263 35 328 dfd:i pathname:s flag:i
unshare 272 97 337 unshare_flags:u
uprobe 336 - -
uretprobe 335 - -
uselib 134 - 86 library:s
userfaultfd 323 282 388 flags:i
ustat 136 - 62 dev:u ubuf:p
utime 132 - - filename:s times:p
utimensat 280 88 348 dfd:i filename:s utimes:p flags:i
utimes 235 - 269 filename:s utimes:p
vfork 58 - 190
vhangup 153 58 111
vmsplice 278 75 343 fd:i iov:p nr_segs:u flags:u
vserver 236 - 313
wait4 61 260 114 pid:i stat_addr:p options:i ru:p
waitid 247 95 280 which:i pid:i infop:p options:i ru:p
write 1 64 4 fd:u buf:s count:u
writev 20 66 146 fd:u vec:p vlen:u
`
