/* Macros of other libraries. Public headers must compile after them. */
/* Qt */
#define signals public
#define slots
#define emit
#define foreach for
#define forever for (;;)
/* X11 */
#define Above 0
#define Always 2
#define Below 1
#define Bool int
#define Complex 0
#define CurrentTime 0L
#define False 0
#define None 0L
#define Status int
#define Success 0
#define True 1
/* <sys/sysmacros.h>, g++ with extensions */
#define major(x) (x)
#define minor(x) (x)
#undef linux
#undef unix
#define linux 1
#define unix 1
/* GLib, logging, code that was written for other systems */
#define ABS(x) (x)
#define CLAMP(x, low, high) (x)
#define CONST const
#define DEBUG 1
#define ERROR 2
#define FALSE 0
#define FATAL 3
#define IN
#define INFO 4
#define MAX(a, b) (a)
#define MIN(a, b) (a)
#define OUT
#define TRUE 1
#define VOID void
#define far
#define interface struct
#define near
#define small char
