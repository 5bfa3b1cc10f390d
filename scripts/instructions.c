/*
 * A plugin for qemu's user emulation that counts the instructions that a program executes, and writes their number to
 * the file that its argument `to=FILE` names. scripts/corpus.sh compiles and loads it.
 *
 * The functions below are those of qemu's plugin interface, version 1, as its documentation (TCG Plugins) has them;
 * the distribution's packages bring no header for them.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum operation { ADD_U64 };

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*call)(plugin_id, struct qemu_plugin_tb *));
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
extern void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *instruction, enum operation operation,
                                                       void *counter, uint64_t by);
extern void qemu_plugin_register_atexit_cb(plugin_id id, void (*call)(plugin_id, void *), void *with);

int qemu_plugin_version = 1;
int qemu_plugin_install(plugin_id id, const void *about, int argc, char **argv);

static uint64_t instructions;
/* Not standard error: a program may close that before it ends. */
static FILE *out;

/* Each instruction of a block that is translated counts itself whenever it is executed. */
static void translated(plugin_id id, struct qemu_plugin_tb *block)
{
    size_t i;
    (void)id;
    for (i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        qemu_plugin_register_vcpu_insn_exec_inline(qemu_plugin_tb_get_insn(block, i), ADD_U64, &instructions, 1);
    }
}

static void ended(plugin_id id, void *with)
{
    (void)id;
    (void)with;
    fprintf(out, "%llu\n", (unsigned long long)instructions);
    fclose(out);
}

int qemu_plugin_install(plugin_id id, const void *about, int argc, char **argv)
{
    (void)about;
    if (argc != 1 || strncmp(argv[0], "to=", 3) != 0 || (out = fopen(argv[0] + 3, "w")) == NULL) {
        fprintf(stderr, "error: expected `to=FILE`, a file that can be written\n");
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
