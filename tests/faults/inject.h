// The calls of the program under test into the preloaded library. All are weak: without it they are null.
#ifndef PILFER_TESTS_FAULTS_INJECT_H
#define PILFER_TESTS_FAULTS_INJECT_H

#ifdef __cplusplus
extern "C" {
#endif

/// What is left of what was taken while armed.
struct pilfer_fault_left {
    long blocks; ///< of the heap
    long mapped; ///< bytes of mappings; one whose munmap was made to fail does not count
};

/// From here on calls count, and fail where PILFER_FAULT says so.
__attribute__((weak)) void pilfer_fault_arm(void);
/// The end of that; writes the number of calls of each kind to the report.
__attribute__((weak)) void pilfer_fault_disarm(void);
/// +1: what the calling thread does now belongs to the harness and neither counts nor fails; -1: no longer.
__attribute__((weak)) void pilfer_fault_pause(int step);
__attribute__((weak)) struct pilfer_fault_left pilfer_fault_leaks(void);
/// Writes where each block that is left was taken to the report.
__attribute__((weak)) void pilfer_fault_name_leaks(void);

#ifdef __cplusplus
}
#endif

#endif
