package uapi

import "strconv"

// FuncID is the number of a helper function (enum bpf_func_id), the imm of a helper call.
type FuncID int32

const (
	FuncUnspec                     FuncID = 0
	FuncMapLookupElem              FuncID = 1
	FuncMapUpdateElem              FuncID = 2
	FuncMapDeleteElem              FuncID = 3
	FuncProbeRead                  FuncID = 4
	FuncKtimeGetNs                 FuncID = 5
	FuncTracePrintk                FuncID = 6
	FuncGetPrandomU32              FuncID = 7
	FuncGetSmpProcessorId          FuncID = 8
	FuncSkbStoreBytes              FuncID = 9
	FuncL3CsumReplace              FuncID = 10
	FuncL4CsumReplace              FuncID = 11
	FuncTailCall                   FuncID = 12
	FuncCloneRedirect              FuncID = 13
	FuncGetCurrentPidTgid          FuncID = 14
	FuncGetCurrentUidGid           FuncID = 15
	FuncGetCurrentComm             FuncID = 16
	FuncGetCgroupClassid           FuncID = 17
	FuncSkbVlanPush                FuncID = 18
	FuncSkbVlanPop                 FuncID = 19
	FuncSkbGetTunnelKey            FuncID = 20
	FuncSkbSetTunnelKey            FuncID = 21
	FuncPerfEventRead              FuncID = 22
	FuncRedirect                   FuncID = 23
	FuncGetRouteRealm              FuncID = 24
	FuncPerfEventOutput            FuncID = 25
	FuncSkbLoadBytes               FuncID = 26
	FuncGetStackid                 FuncID = 27
	FuncCsumDiff                   FuncID = 28
	FuncSkbGetTunnelOpt            FuncID = 29
	FuncSkbSetTunnelOpt            FuncID = 30
	FuncSkbChangeProto             FuncID = 31
	FuncSkbChangeType              FuncID = 32
	FuncSkbUnderCgroup             FuncID = 33
	FuncGetHashRecalc              FuncID = 34
	FuncGetCurrentTask             FuncID = 35
	FuncProbeWriteUser             FuncID = 36
	FuncCurrentTaskUnderCgroup     FuncID = 37
	FuncSkbChangeTail              FuncID = 38
	FuncSkbPullData                FuncID = 39
	FuncCsumUpdate                 FuncID = 40
	FuncSetHashInvalid             FuncID = 41
	FuncGetNumaNodeId              FuncID = 42
	FuncSkbChangeHead              FuncID = 43
	FuncXDPAdjustHead              FuncID = 44
	FuncProbeReadStr               FuncID = 45
	FuncGetSocketCookie            FuncID = 46
	FuncGetSocketUid               FuncID = 47
	FuncSetHash                    FuncID = 48
	FuncSetsockopt                 FuncID = 49
	FuncSkbAdjustRoom              FuncID = 50
	FuncRedirectMap                FuncID = 51
	FuncSkRedirectMap              FuncID = 52
	FuncSockMapUpdate              FuncID = 53
	FuncXDPAdjustMeta              FuncID = 54
	FuncPerfEventReadValue         FuncID = 55
	FuncPerfProgReadValue          FuncID = 56
	FuncGetsockopt                 FuncID = 57
	FuncOverrideReturn             FuncID = 58
	FuncSockOpsCbFlagsSet          FuncID = 59
	FuncMsgRedirectMap             FuncID = 60
	FuncMsgApplyBytes              FuncID = 61
	FuncMsgCorkBytes               FuncID = 62
	FuncMsgPullData                FuncID = 63
	FuncBind                       FuncID = 64
	FuncXDPAdjustTail              FuncID = 65
	FuncSkbGetXfrmState            FuncID = 66
	FuncGetStack                   FuncID = 67
	FuncSkbLoadBytesRelative       FuncID = 68
	FuncFibLookup                  FuncID = 69
	FuncSockHashUpdate             FuncID = 70
	FuncMsgRedirectHash            FuncID = 71
	FuncSkRedirectHash             FuncID = 72
	FuncLwtPushEncap               FuncID = 73
	FuncLwtSeg6StoreBytes          FuncID = 74
	FuncLwtSeg6AdjustSrh           FuncID = 75
	FuncLwtSeg6Action              FuncID = 76
	FuncRcRepeat                   FuncID = 77
	FuncRcKeydown                  FuncID = 78
	FuncSkbCgroupId                FuncID = 79
	FuncGetCurrentCgroupId         FuncID = 80
	FuncGetLocalStorage            FuncID = 81
	FuncSkSelectReuseport          FuncID = 82
	FuncSkbAncestorCgroupId        FuncID = 83
	FuncSkLookupTcp                FuncID = 84
	FuncSkLookupUdp                FuncID = 85
	FuncSkRelease                  FuncID = 86
	FuncMapPushElem                FuncID = 87
	FuncMapPopElem                 FuncID = 88
	FuncMapPeekElem                FuncID = 89
	FuncMsgPushData                FuncID = 90
	FuncMsgPopData                 FuncID = 91
	FuncRcPointerRel               FuncID = 92
	FuncSpinLock                   FuncID = 93
	FuncSpinUnlock                 FuncID = 94
	FuncSkFullsock                 FuncID = 95
	FuncTcpSock                    FuncID = 96
	FuncSkbEcnSetCe                FuncID = 97
	FuncGetListenerSock            FuncID = 98
	FuncSkcLookupTcp               FuncID = 99
	FuncTcpCheckSyncookie          FuncID = 100
	FuncSysctlGetName              FuncID = 101
	FuncSysctlGetCurrentValue      FuncID = 102
	FuncSysctlGetNewValue          FuncID = 103
	FuncSysctlSetNewValue          FuncID = 104
	FuncStrtol                     FuncID = 105
	FuncStrtoul                    FuncID = 106
	FuncSkStorageGet               FuncID = 107
	FuncSkStorageDelete            FuncID = 108
	FuncSendSignal                 FuncID = 109
	FuncTcpGenSyncookie            FuncID = 110
	FuncSkbOutput                  FuncID = 111
	FuncProbeReadUser              FuncID = 112
	FuncProbeReadKernel            FuncID = 113
	FuncProbeReadUserStr           FuncID = 114
	FuncProbeReadKernelStr         FuncID = 115
	FuncTcpSendAck                 FuncID = 116
	FuncSendSignalThread           FuncID = 117
	FuncJiffies64                  FuncID = 118
	FuncReadBranchRecords          FuncID = 119
	FuncGetNsCurrentPidTgid        FuncID = 120
	FuncXDPOutput                  FuncID = 121
	FuncGetNetnsCookie             FuncID = 122
	FuncGetCurrentAncestorCgroupId FuncID = 123
	FuncSkAssign                   FuncID = 124
	FuncKtimeGetBootNs             FuncID = 125
	FuncSeqPrintf                  FuncID = 126
	FuncSeqWrite                   FuncID = 127
	FuncSkCgroupId                 FuncID = 128
	FuncSkAncestorCgroupId         FuncID = 129
	FuncRingbufOutput              FuncID = 130
	FuncRingbufReserve             FuncID = 131
	FuncRingbufSubmit              FuncID = 132
	FuncRingbufDiscard             FuncID = 133
	FuncRingbufQuery               FuncID = 134
	FuncCsumLevel                  FuncID = 135
	FuncSkcToTcp6Sock              FuncID = 136
	FuncSkcToTcpSock               FuncID = 137
	FuncSkcToTcpTimewaitSock       FuncID = 138
	FuncSkcToTcpRequestSock        FuncID = 139
	FuncSkcToUdp6Sock              FuncID = 140
	FuncGetTaskStack               FuncID = 141
	FuncLoadHdrOpt                 FuncID = 142
	FuncStoreHdrOpt                FuncID = 143
	FuncReserveHdrOpt              FuncID = 144
	FuncInodeStorageGet            FuncID = 145
	FuncInodeStorageDelete         FuncID = 146
	FuncDPath                      FuncID = 147
	FuncCopyFromUser               FuncID = 148
	FuncSnprintfBtf                FuncID = 149
	FuncSeqPrintfBtf               FuncID = 150
	FuncSkbCgroupClassid           FuncID = 151
	FuncRedirectNeigh              FuncID = 152
	FuncPerCpuPtr                  FuncID = 153
	FuncThisCpuPtr                 FuncID = 154
	FuncRedirectPeer               FuncID = 155
	FuncTaskStorageGet             FuncID = 156
	FuncTaskStorageDelete          FuncID = 157
	FuncGetCurrentTaskBtf          FuncID = 158
	FuncBprmOptsSet                FuncID = 159
	FuncKtimeGetCoarseNs           FuncID = 160
	FuncImaInodeHash               FuncID = 161
	FuncSockFromFile               FuncID = 162
	FuncCheckMtu                   FuncID = 163
	FuncForEachMapElem             FuncID = 164
	FuncSnprintf                   FuncID = 165
	FuncSysBpf                     FuncID = 166
	FuncBtfFindByNameKind          FuncID = 167
	FuncSysClose                   FuncID = 168
	FuncTimerInit                  FuncID = 169
	FuncTimerSetCallback           FuncID = 170
	FuncTimerStart                 FuncID = 171
	FuncTimerCancel                FuncID = 172
	FuncGetFuncIp                  FuncID = 173
	FuncGetAttachCookie            FuncID = 174
	FuncTaskPtRegs                 FuncID = 175
	FuncGetBranchSnapshot          FuncID = 176
	FuncTraceVprintk               FuncID = 177
	FuncSkcToUnixSock              FuncID = 178
	FuncKallsymsLookupName         FuncID = 179
	FuncFindVma                    FuncID = 180
	FuncLoop                       FuncID = 181
	FuncStrncmp                    FuncID = 182
	FuncGetFuncArg                 FuncID = 183
	FuncGetFuncRet                 FuncID = 184
	FuncGetFuncArgCnt              FuncID = 185
	FuncGetRetval                  FuncID = 186
	FuncSetRetval                  FuncID = 187
	FuncXDPGetBuffLen              FuncID = 188
	FuncXDPLoadBytes               FuncID = 189
	FuncXDPStoreBytes              FuncID = 190
	FuncCopyFromUserTask           FuncID = 191
	FuncSkbSetTstamp               FuncID = 192
	FuncImaFileHash                FuncID = 193
	FuncKptrXchg                   FuncID = 194
	FuncMapLookupPercpuElem        FuncID = 195
	FuncSkcToMptcpSock             FuncID = 196
	FuncDynptrFromMem              FuncID = 197
	FuncRingbufReserveDynptr       FuncID = 198
	FuncRingbufSubmitDynptr        FuncID = 199
	FuncRingbufDiscardDynptr       FuncID = 200
	FuncDynptrRead                 FuncID = 201
	FuncDynptrWrite                FuncID = 202
	FuncDynptrData                 FuncID = 203
	FuncTcpRawGenSyncookieIpv4     FuncID = 204
	FuncTcpRawGenSyncookieIpv6     FuncID = 205
	FuncTcpRawCheckSyncookieIpv4   FuncID = 206
	FuncTcpRawCheckSyncookieIpv6   FuncID = 207
	FuncKtimeGetTaiNs              FuncID = 208
	FuncUserRingbufDrain           FuncID = 209
	FuncCgrpStorageGet             FuncID = 210
	FuncCgrpStorageDelete          FuncID = 211
)

// funcNames are the names of the helpers as C programs call them.
var funcNames = [...]string{
	FuncUnspec:                     "bpf_unspec",
	FuncMapLookupElem:              "bpf_map_lookup_elem",
	FuncMapUpdateElem:              "bpf_map_update_elem",
	FuncMapDeleteElem:              "bpf_map_delete_elem",
	FuncProbeRead:                  "bpf_probe_read",
	FuncKtimeGetNs:                 "bpf_ktime_get_ns",
	FuncTracePrintk:                "bpf_trace_printk",
	FuncGetPrandomU32:              "bpf_get_prandom_u32",
	FuncGetSmpProcessorId:          "bpf_get_smp_processor_id",
	FuncSkbStoreBytes:              "bpf_skb_store_bytes",
	FuncL3CsumReplace:              "bpf_l3_csum_replace",
	FuncL4CsumReplace:              "bpf_l4_csum_replace",
	FuncTailCall:                   "bpf_tail_call",
	FuncCloneRedirect:              "bpf_clone_redirect",
	FuncGetCurrentPidTgid:          "bpf_get_current_pid_tgid",
	FuncGetCurrentUidGid:           "bpf_get_current_uid_gid",
	FuncGetCurrentComm:             "bpf_get_current_comm",
	FuncGetCgroupClassid:           "bpf_get_cgroup_classid",
	FuncSkbVlanPush:                "bpf_skb_vlan_push",
	FuncSkbVlanPop:                 "bpf_skb_vlan_pop",
	FuncSkbGetTunnelKey:            "bpf_skb_get_tunnel_key",
	FuncSkbSetTunnelKey:            "bpf_skb_set_tunnel_key",
	FuncPerfEventRead:              "bpf_perf_event_read",
	FuncRedirect:                   "bpf_redirect",
	FuncGetRouteRealm:              "bpf_get_route_realm",
	FuncPerfEventOutput:            "bpf_perf_event_output",
	FuncSkbLoadBytes:               "bpf_skb_load_bytes",
	FuncGetStackid:                 "bpf_get_stackid",
	FuncCsumDiff:                   "bpf_csum_diff",
	FuncSkbGetTunnelOpt:            "bpf_skb_get_tunnel_opt",
	FuncSkbSetTunnelOpt:            "bpf_skb_set_tunnel_opt",
	FuncSkbChangeProto:             "bpf_skb_change_proto",
	FuncSkbChangeType:              "bpf_skb_change_type",
	FuncSkbUnderCgroup:             "bpf_skb_under_cgroup",
	FuncGetHashRecalc:              "bpf_get_hash_recalc",
	FuncGetCurrentTask:             "bpf_get_current_task",
	FuncProbeWriteUser:             "bpf_probe_write_user",
	FuncCurrentTaskUnderCgroup:     "bpf_current_task_under_cgroup",
	FuncSkbChangeTail:              "bpf_skb_change_tail",
	FuncSkbPullData:                "bpf_skb_pull_data",
	FuncCsumUpdate:                 "bpf_csum_update",
	FuncSetHashInvalid:             "bpf_set_hash_invalid",
	FuncGetNumaNodeId:              "bpf_get_numa_node_id",
	FuncSkbChangeHead:              "bpf_skb_change_head",
	FuncXDPAdjustHead:              "bpf_xdp_adjust_head",
	FuncProbeReadStr:               "bpf_probe_read_str",
	FuncGetSocketCookie:            "bpf_get_socket_cookie",
	FuncGetSocketUid:               "bpf_get_socket_uid",
	FuncSetHash:                    "bpf_set_hash",
	FuncSetsockopt:                 "bpf_setsockopt",
	FuncSkbAdjustRoom:              "bpf_skb_adjust_room",
	FuncRedirectMap:                "bpf_redirect_map",
	FuncSkRedirectMap:              "bpf_sk_redirect_map",
	FuncSockMapUpdate:              "bpf_sock_map_update",
	FuncXDPAdjustMeta:              "bpf_xdp_adjust_meta",
	FuncPerfEventReadValue:         "bpf_perf_event_read_value",
	FuncPerfProgReadValue:          "bpf_perf_prog_read_value",
	FuncGetsockopt:                 "bpf_getsockopt",
	FuncOverrideReturn:             "bpf_override_return",
	FuncSockOpsCbFlagsSet:          "bpf_sock_ops_cb_flags_set",
	FuncMsgRedirectMap:             "bpf_msg_redirect_map",
	FuncMsgApplyBytes:              "bpf_msg_apply_bytes",
	FuncMsgCorkBytes:               "bpf_msg_cork_bytes",
	FuncMsgPullData:                "bpf_msg_pull_data",
	FuncBind:                       "bpf_bind",
	FuncXDPAdjustTail:              "bpf_xdp_adjust_tail",
	FuncSkbGetXfrmState:            "bpf_skb_get_xfrm_state",
	FuncGetStack:                   "bpf_get_stack",
	FuncSkbLoadBytesRelative:       "bpf_skb_load_bytes_relative",
	FuncFibLookup:                  "bpf_fib_lookup",
	FuncSockHashUpdate:             "bpf_sock_hash_update",
	FuncMsgRedirectHash:            "bpf_msg_redirect_hash",
	FuncSkRedirectHash:             "bpf_sk_redirect_hash",
	FuncLwtPushEncap:               "bpf_lwt_push_encap",
	FuncLwtSeg6StoreBytes:          "bpf_lwt_seg6_store_bytes",
	FuncLwtSeg6AdjustSrh:           "bpf_lwt_seg6_adjust_srh",
	FuncLwtSeg6Action:              "bpf_lwt_seg6_action",
	FuncRcRepeat:                   "bpf_rc_repeat",
	FuncRcKeydown:                  "bpf_rc_keydown",
	FuncSkbCgroupId:                "bpf_skb_cgroup_id",
	FuncGetCurrentCgroupId:         "bpf_get_current_cgroup_id",
	FuncGetLocalStorage:            "bpf_get_local_storage",
	FuncSkSelectReuseport:          "bpf_sk_select_reuseport",
	FuncSkbAncestorCgroupId:        "bpf_skb_ancestor_cgroup_id",
	FuncSkLookupTcp:                "bpf_sk_lookup_tcp",
	FuncSkLookupUdp:                "bpf_sk_lookup_udp",
	FuncSkRelease:                  "bpf_sk_release",
	FuncMapPushElem:                "bpf_map_push_elem",
	FuncMapPopElem:                 "bpf_map_pop_elem",
	FuncMapPeekElem:                "bpf_map_peek_elem",
	FuncMsgPushData:                "bpf_msg_push_data",
	FuncMsgPopData:                 "bpf_msg_pop_data",
	FuncRcPointerRel:               "bpf_rc_pointer_rel",
	FuncSpinLock:                   "bpf_spin_lock",
	FuncSpinUnlock:                 "bpf_spin_unlock",
	FuncSkFullsock:                 "bpf_sk_fullsock",
	FuncTcpSock:                    "bpf_tcp_sock",
	FuncSkbEcnSetCe:                "bpf_skb_ecn_set_ce",
	FuncGetListenerSock:            "bpf_get_listener_sock",
	FuncSkcLookupTcp:               "bpf_skc_lookup_tcp",
	FuncTcpCheckSyncookie:          "bpf_tcp_check_syncookie",
	FuncSysctlGetName:              "bpf_sysctl_get_name",
	FuncSysctlGetCurrentValue:      "bpf_sysctl_get_current_value",
	FuncSysctlGetNewValue:          "bpf_sysctl_get_new_value",
	FuncSysctlSetNewValue:          "bpf_sysctl_set_new_value",
	FuncStrtol:                     "bpf_strtol",
	FuncStrtoul:                    "bpf_strtoul",
	FuncSkStorageGet:               "bpf_sk_storage_get",
	FuncSkStorageDelete:            "bpf_sk_storage_delete",
	FuncSendSignal:                 "bpf_send_signal",
	FuncTcpGenSyncookie:            "bpf_tcp_gen_syncookie",
	FuncSkbOutput:                  "bpf_skb_output",
	FuncProbeReadUser:              "bpf_probe_read_user",
	FuncProbeReadKernel:            "bpf_probe_read_kernel",
	FuncProbeReadUserStr:           "bpf_probe_read_user_str",
	FuncProbeReadKernelStr:         "bpf_probe_read_kernel_str",
	FuncTcpSendAck:                 "bpf_tcp_send_ack",
	FuncSendSignalThread:           "bpf_send_signal_thread",
	FuncJiffies64:                  "bpf_jiffies64",
	FuncReadBranchRecords:          "bpf_read_branch_records",
	FuncGetNsCurrentPidTgid:        "bpf_get_ns_current_pid_tgid",
	FuncXDPOutput:                  "bpf_xdp_output",
	FuncGetNetnsCookie:             "bpf_get_netns_cookie",
	FuncGetCurrentAncestorCgroupId: "bpf_get_current_ancestor_cgroup_id",
	FuncSkAssign:                   "bpf_sk_assign",
	FuncKtimeGetBootNs:             "bpf_ktime_get_boot_ns",
	FuncSeqPrintf:                  "bpf_seq_printf",
	FuncSeqWrite:                   "bpf_seq_write",
	FuncSkCgroupId:                 "bpf_sk_cgroup_id",
	FuncSkAncestorCgroupId:         "bpf_sk_ancestor_cgroup_id",
	FuncRingbufOutput:              "bpf_ringbuf_output",
	FuncRingbufReserve:             "bpf_ringbuf_reserve",
	FuncRingbufSubmit:              "bpf_ringbuf_submit",
	FuncRingbufDiscard:             "bpf_ringbuf_discard",
	FuncRingbufQuery:               "bpf_ringbuf_query",
	FuncCsumLevel:                  "bpf_csum_level",
	FuncSkcToTcp6Sock:              "bpf_skc_to_tcp6_sock",
	FuncSkcToTcpSock:               "bpf_skc_to_tcp_sock",
	FuncSkcToTcpTimewaitSock:       "bpf_skc_to_tcp_timewait_sock",
	FuncSkcToTcpRequestSock:        "bpf_skc_to_tcp_request_sock",
	FuncSkcToUdp6Sock:              "bpf_skc_to_udp6_sock",
	FuncGetTaskStack:               "bpf_get_task_stack",
	FuncLoadHdrOpt:                 "bpf_load_hdr_opt",
	FuncStoreHdrOpt:                "bpf_store_hdr_opt",
	FuncReserveHdrOpt:              "bpf_reserve_hdr_opt",
	FuncInodeStorageGet:            "bpf_inode_storage_get",
	FuncInodeStorageDelete:         "bpf_inode_storage_delete",
	FuncDPath:                      "bpf_d_path",
	FuncCopyFromUser:               "bpf_copy_from_user",
	FuncSnprintfBtf:                "bpf_snprintf_btf",
	FuncSeqPrintfBtf:               "bpf_seq_printf_btf",
	FuncSkbCgroupClassid:           "bpf_skb_cgroup_classid",
	FuncRedirectNeigh:              "bpf_redirect_neigh",
	FuncPerCpuPtr:                  "bpf_per_cpu_ptr",
	FuncThisCpuPtr:                 "bpf_this_cpu_ptr",
	FuncRedirectPeer:               "bpf_redirect_peer",
	FuncTaskStorageGet:             "bpf_task_storage_get",
	FuncTaskStorageDelete:          "bpf_task_storage_delete",
	FuncGetCurrentTaskBtf:          "bpf_get_current_task_btf",
	FuncBprmOptsSet:                "bpf_bprm_opts_set",
	FuncKtimeGetCoarseNs:           "bpf_ktime_get_coarse_ns",
	FuncImaInodeHash:               "bpf_ima_inode_hash",
	FuncSockFromFile:               "bpf_sock_from_file",
	FuncCheckMtu:                   "bpf_check_mtu",
	FuncForEachMapElem:             "bpf_for_each_map_elem",
	FuncSnprintf:                   "bpf_snprintf",
	FuncSysBpf:                     "bpf_sys_bpf",
	FuncBtfFindByNameKind:          "bpf_btf_find_by_name_kind",
	FuncSysClose:                   "bpf_sys_close",
	FuncTimerInit:                  "bpf_timer_init",
	FuncTimerSetCallback:           "bpf_timer_set_callback",
	FuncTimerStart:                 "bpf_timer_start",
	FuncTimerCancel:                "bpf_timer_cancel",
	FuncGetFuncIp:                  "bpf_get_func_ip",
	FuncGetAttachCookie:            "bpf_get_attach_cookie",
	FuncTaskPtRegs:                 "bpf_task_pt_regs",
	FuncGetBranchSnapshot:          "bpf_get_branch_snapshot",
	FuncTraceVprintk:               "bpf_trace_vprintk",
	FuncSkcToUnixSock:              "bpf_skc_to_unix_sock",
	FuncKallsymsLookupName:         "bpf_kallsyms_lookup_name",
	FuncFindVma:                    "bpf_find_vma",
	FuncLoop:                       "bpf_loop",
	FuncStrncmp:                    "bpf_strncmp",
	FuncGetFuncArg:                 "bpf_get_func_arg",
	FuncGetFuncRet:                 "bpf_get_func_ret",
	FuncGetFuncArgCnt:              "bpf_get_func_arg_cnt",
	FuncGetRetval:                  "bpf_get_retval",
	FuncSetRetval:                  "bpf_set_retval",
	FuncXDPGetBuffLen:              "bpf_xdp_get_buff_len",
	FuncXDPLoadBytes:               "bpf_xdp_load_bytes",
	FuncXDPStoreBytes:              "bpf_xdp_store_bytes",
	FuncCopyFromUserTask:           "bpf_copy_from_user_task",
	FuncSkbSetTstamp:               "bpf_skb_set_tstamp",
	FuncImaFileHash:                "bpf_ima_file_hash",
	FuncKptrXchg:                   "bpf_kptr_xchg",
	FuncMapLookupPercpuElem:        "bpf_map_lookup_percpu_elem",
	FuncSkcToMptcpSock:             "bpf_skc_to_mptcp_sock",
	FuncDynptrFromMem:              "bpf_dynptr_from_mem",
	FuncRingbufReserveDynptr:       "bpf_ringbuf_reserve_dynptr",
	FuncRingbufSubmitDynptr:        "bpf_ringbuf_submit_dynptr",
	FuncRingbufDiscardDynptr:       "bpf_ringbuf_discard_dynptr",
	FuncDynptrRead:                 "bpf_dynptr_read",
	FuncDynptrWrite:                "bpf_dynptr_write",
	FuncDynptrData:                 "bpf_dynptr_data",
	FuncTcpRawGenSyncookieIpv4:     "bpf_tcp_raw_gen_syncookie_ipv4",
	FuncTcpRawGenSyncookieIpv6:     "bpf_tcp_raw_gen_syncookie_ipv6",
	FuncTcpRawCheckSyncookieIpv4:   "bpf_tcp_raw_check_syncookie_ipv4",
	FuncTcpRawCheckSyncookieIpv6:   "bpf_tcp_raw_check_syncookie_ipv6",
	FuncKtimeGetTaiNs:              "bpf_ktime_get_tai_ns",
	FuncUserRingbufDrain:           "bpf_user_ringbuf_drain",
	FuncCgrpStorageGet:             "bpf_cgrp_storage_get",
	FuncCgrpStorageDelete:          "bpf_cgrp_storage_delete",
}

// MaxFuncID is the highest helper number; the kernel froze the list in 6.2 (Documentation/bpf/bpf_design_QA.rst).
const MaxFuncID = FuncCgrpStorageDelete

// String returns the helper's name in C ("bpf_map_lookup_elem"), or "FuncID(N)" for a number no known kernel defines.
func (f FuncID) String() string {
	if uint32(f) < uint32(len(funcNames)) {
		return funcNames[f]
	}
	return "unknown#" + strconv.Itoa(int(f)) // as libbpf and bpftool write it
}

// Known reports whether f is a number this package has a name for.
func (f FuncID) Known() bool { return uint32(f) < uint32(len(funcNames)) }

// ParseFuncID finds a helper by its name, with or without the leading "bpf_".
func ParseFuncID(s string) (FuncID, bool) {
	for i, n := range funcNames {
		if n == s || n[len("bpf_"):] == s {
			return FuncID(i), true
		}
	}
	return 0, false
}
