// AAPCS64. Saved: x19..x30, d8..d15, FPCR. Layout of a saved stack, from its sp upwards: x19..x30 (96),
// d8..d15 (64), FPCR (8), padding (8): 176 bytes.
#if defined(__aarch64__) && !defined(PILFER_PORTABLE_CONTEXT)

        .text

.macro FUNCTION name
        .globl  \name
        .hidden \name
        .type   \name, %function
        .p2align 4
\name:
        .cfi_startproc
        hint    #34             // bti c
.endm
.macro END name
        .cfi_endproc
        .size   \name, . - \name
.endm

.macro SAVE
        sub     sp, sp, #176
        .cfi_adjust_cfa_offset 176
        stp     x19, x20, [sp]
        stp     x21, x22, [sp, #16]
        stp     x23, x24, [sp, #32]
        stp     x25, x26, [sp, #48]
        stp     x27, x28, [sp, #64]
        stp     x29, x30, [sp, #80]
        .cfi_rel_offset x29, 80
        .cfi_rel_offset x30, 88
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mrs     x9, fpcr
        str     x9, [sp, #160]
        mov     x9, sp
        str     x9, [x0]
.endm

// Goes on with the stack in x1; x2 holds the message.
.macro RESTORE
        mov     sp, x1
        ldp     x19, x20, [sp]
        ldp     x21, x22, [sp, #16]
        ldp     x23, x24, [sp, #32]
        ldp     x25, x26, [sp, #48]
        ldp     x27, x28, [sp, #64]
        ldp     x29, x30, [sp, #80]
        ldp     d8, d9, [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        ldr     x9, [sp, #160]
        msr     fpcr, x9
        add     sp, sp, #176
        .cfi_adjust_cfa_offset -176
        .cfi_restore x29
        .cfi_restore x30
        mov     x0, x2
        ret     x30
.endm

// void* pilfer_v0_switch(void** save, void* target, void* message)
FUNCTION pilfer_v0_switch
        SAVE
        RESTORE
END pilfer_v0_switch

// void pilfer_v0_jump(void* target, void* message)
FUNCTION pilfer_v0_jump
        mov     x2, x1
        mov     x1, x0
        .cfi_adjust_cfa_offset 176
        RESTORE
END pilfer_v0_jump

// void* pilfer_v0_start(void** save, void* top, void (*entry)(void*), void* argument)
FUNCTION pilfer_v0_start
        SAVE
        mov     sp, x1
        mov     x0, x3
        mov     x29, #0
        .cfi_undefined x30
        blr     x2
        brk     #1
END pilfer_v0_start

// void* pilfer_v0_continue(void** save, const continuation* rest)
FUNCTION pilfer_v0_continue
        SAVE
        ldr     x9, [x1, #32]
        msr     fpcr, x9
        ldp     x29, x19, [x1, #16]
        ldp     x9, x10, [x1]
        mov     sp, x10
        .cfi_undefined x30
        br      x9
END pilfer_v0_continue

// void pilfer_v0_trace(void* sp, void (*walk)(void*), void* argument)
// Calls walk(argument). To an unwinder this frame's caller is not the caller, but the stack that was saved at
// sp: its description says so. x19 holds sp, because walk keeps it.
FUNCTION pilfer_v0_trace
        stp     x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        str     x19, [sp, #16]
        .cfi_rel_offset x19, 16
        mov     x19, x0
        mov     x0, x2
        .cfi_remember_state
        .cfi_def_cfa x19, 176
        .cfi_offset x19, -176
        .cfi_offset x20, -168
        .cfi_offset x21, -160
        .cfi_offset x22, -152
        .cfi_offset x23, -144
        .cfi_offset x24, -136
        .cfi_offset x25, -128
        .cfi_offset x26, -120
        .cfi_offset x27, -112
        .cfi_offset x28, -104
        .cfi_offset x29, -96
        .cfi_offset x30, -88
        blr     x1
        .cfi_restore_state
        ldr     x19, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_adjust_cfa_offset -32
        .cfi_restore x19
        .cfi_restore x29
        .cfi_restore x30
        ret
END pilfer_v0_trace

#endif
        .section .note.GNU-stack, "", %progbits
