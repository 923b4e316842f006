// System V x86-64. Saved: rbx, rbp, r12..r15, mxcsr, x87 control word.
// Layout of a saved stack, from its sp upwards: control words (8), r15, r14, r13, r12, rbx, rbp, return.
// The jump goes through rcx: a `ret` would be predicted by the return stack and always be wrong (7.9 ns
// against 2.8 ns for the bare six registers).
#if defined(__x86_64__) && !defined(__ILP32__) && !defined(PILFER_PORTABLE_CONTEXT)

#if defined(__CET__) && (__CET__ & 1)
#define LANDING endbr64
#else
#define LANDING
#endif

        .text

.macro FUNCTION name
        .globl  \name
        .hidden \name
        .type   \name, @function
        .p2align 4
\name:
        .cfi_startproc
        LANDING
.endm
.macro END name
        .cfi_endproc
        .size   \name, . - \name
.endm

.macro SAVE
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbx, 0
        pushq   %r12
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r12, 0
        pushq   %r13
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r13, 0
        pushq   %r14
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r14, 0
        pushq   %r15
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r15, 0
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        stmxcsr (%rsp)
        fnstcw  4(%rsp)
        movq    %rsp, (%rdi)
.endm

// Goes on with the stack in rsp; rax holds the message. The unwind description stays true: the new stack
// has the same layout.
.macro RESTORE
        ldmxcsr (%rsp)
        fldcw   4(%rsp)
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %r15
        .cfi_adjust_cfa_offset -8
        .cfi_restore r15
        popq    %r14
        .cfi_adjust_cfa_offset -8
        .cfi_restore r14
        popq    %r13
        .cfi_adjust_cfa_offset -8
        .cfi_restore r13
        popq    %r12
        .cfi_adjust_cfa_offset -8
        .cfi_restore r12
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbx
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbp
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        .cfi_register rip, rcx
        jmp     *%rcx
.endm

// void* pilfer_v0_switch(void** save, void* target, void* message)
FUNCTION pilfer_v0_switch
        SAVE
        movq    %rdx, %rax
        movq    %rsi, %rsp
        RESTORE
END pilfer_v0_switch

// void pilfer_v0_jump(void* target, void* message)
FUNCTION pilfer_v0_jump
        movq    %rsi, %rax
        movq    %rdi, %rsp
        .cfi_def_cfa_offset 64
        .cfi_offset rbp, -16
        .cfi_offset rbx, -24
        .cfi_offset r12, -32
        .cfi_offset r13, -40
        .cfi_offset r14, -48
        .cfi_offset r15, -56
        RESTORE
END pilfer_v0_jump

// void* pilfer_v0_start(void** save, void* top, void (*entry)(void*), void* argument)
FUNCTION pilfer_v0_start
        SAVE
        movq    %rsi, %rsp
        movq    %rcx, %rdi
        xorl    %ebp, %ebp
        .cfi_undefined rip
        call    *%rdx
        ud2
END pilfer_v0_start

// void* pilfer_v0_continue(void** save, const continuation* rest)
FUNCTION pilfer_v0_continue
        SAVE
        ldmxcsr 32(%rsi)
        // spawn saves mxcsr only, fnstcw would cost it too much. Rounding (bits 13-14) and exception masks
        // (7-12) are set alike in both words by <cfenv>, so the x87 word (10-11 and 0-5) follows from it.
        fnstcw  -8(%rsp)
        movl    32(%rsi), %eax
        movl    %eax, %ecx
        shrl    $3, %eax
        andl    $0x0c00, %eax
        shrl    $7, %ecx
        andl    $0x3f, %ecx
        orl     %ecx, %eax
        movl    -8(%rsp), %ecx
        andl    $0xf3c0, %ecx
        orl     %eax, %ecx
        movl    %ecx, -8(%rsp)
        fldcw   -8(%rsp)
        movq    16(%rsi), %rbp
        movq    24(%rsi), %rbx
        movq    8(%rsi), %rsp
        .cfi_undefined rip
        jmp     *0(%rsi)
END pilfer_v0_continue

// void pilfer_v0_trace(void* sp, void (*walk)(void*), void* argument)
// Calls walk(argument). To an unwinder this frame's caller is not the caller, but the stack that was saved at
// sp: its description says so. rbx holds sp, because walk keeps it.
FUNCTION pilfer_v0_trace
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbx, 0
        movq    %rdi, %rbx
        movq    %rdx, %rdi
        .cfi_remember_state
        .cfi_def_cfa rbx, 64
        .cfi_offset rip, -8
        .cfi_offset rbp, -16
        .cfi_offset rbx, -24
        .cfi_offset r12, -32
        .cfi_offset r13, -40
        .cfi_offset r14, -48
        .cfi_offset r15, -56
        call    *%rsi
        .cfi_restore_state
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbx
        ret
END pilfer_v0_trace

#endif
        .section .note.GNU-stack, "", @progbits
