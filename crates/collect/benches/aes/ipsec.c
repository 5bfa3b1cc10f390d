/* Intel's multi-buffer library, for the bench: many streams, each under its own key, which is expanded once. */

#include <intel-ipsec-mb.h>
#include <stdlib.h>
#include <string.h>

/* Keys, and what the library keeps. */
struct streams {
    IMB_MGR *manager;
    unsigned count;
    unsigned key_bytes;
    struct {
        DECLARE_ALIGNED(uint32_t encrypt[4 * 15], 16);
        DECLARE_ALIGNED(uint32_t decrypt[4 * 15], 16);
    } keys[];
};

/* Frees what ipsec_open made. */
void ipsec_close(struct streams *streams)
{
    if (streams != NULL && streams->manager != NULL) {
        free_mb_mgr(streams->manager);
    }
    free(streams);
}

/* Expands count keys of key_bytes, one behind the other. NULL when there is no memory. */
struct streams *ipsec_open(unsigned count, const unsigned char *keys, unsigned key_bytes)
{
    struct streams *streams;
    unsigned i;

    if (posix_memalign((void **)&streams, 64, sizeof *streams + count * sizeof streams->keys[0]) != 0) {
        return NULL;
    }
    streams->count = count;
    streams->key_bytes = key_bytes;
    streams->manager = alloc_mb_mgr(0);
    if (streams->manager == NULL) {
        ipsec_close(streams);
        return NULL;
    }
    init_mb_mgr_auto(streams->manager, NULL);
    for (i = 0; i < count; i++) {
        const unsigned char *key = keys + i * key_bytes;

        if (key_bytes == 16) {
            IMB_AES_KEYEXP_128(streams->manager, key, streams->keys[i].encrypt, streams->keys[i].decrypt);
        } else if (key_bytes == 24) {
            IMB_AES_KEYEXP_192(streams->manager, key, streams->keys[i].encrypt, streams->keys[i].decrypt);
        } else {
            IMB_AES_KEYEXP_256(streams->manager, key, streams->keys[i].encrypt, streams->keys[i].decrypt);
        }
    }
    return streams;
}

static void common(const struct streams *streams, IMB_JOB *job, unsigned i, unsigned char *data, unsigned bytes)
{
    memset(job, 0, sizeof *job);
    job->cipher_direction = IMB_DIR_ENCRYPT;
    job->chain_order = IMB_ORDER_CIPHER_HASH;
    job->hash_alg = IMB_AUTH_NULL;
    job->enc_keys = streams->keys[i].encrypt;
    job->dec_keys = streams->keys[i].decrypt;
    job->key_len_in_bytes = streams->key_bytes;
    job->src = data;
    job->dst = data;
    job->msg_len_to_cipher_in_bytes = bytes;
    job->msg_len_to_hash_in_bytes = bytes;
}

static int submit(struct streams *streams)
{
    IMB_JOB *job = IMB_SUBMIT_JOB(streams->manager);

    return job == NULL || job->status == IMB_STATUS_COMPLETED;
}

static int flush(struct streams *streams)
{
    IMB_JOB *job;
    int good = 1;

    while ((job = IMB_FLUSH_JOB(streams->manager)) != NULL) {
        good &= job->status == IMB_STATUS_COMPLETED;
    }
    return good;
}

/* CBC encryption of every stream in place, stride bytes from one to the next. Returns 1 if all is well. */
int ipsec_cbc(struct streams *streams, const unsigned char iv[16], unsigned char *data, unsigned stride,
              unsigned bytes)
{
    int good = 1;
    unsigned i;

    for (i = 0; i < streams->count; i++) {
        IMB_JOB *job = IMB_GET_NEXT_JOB(streams->manager);

        common(streams, job, i, data + i * stride, bytes);
        job->cipher_mode = IMB_CIPHER_CBC;
        job->iv = iv;
        job->iv_len_in_bytes = 16;
        good &= submit(streams);
    }
    return good & flush(streams);
}

/* Seals every stream in place with CCM: a nonce of 13 bytes, tags of 8 bytes, one behind the other. Returns 1 if all is
 * well. */
int ipsec_ccm(struct streams *streams, const unsigned char nonce[13], const unsigned char *associated,
              unsigned associated_bytes, unsigned char *data, unsigned stride, unsigned bytes, unsigned char *tags)
{
    int good = 1;
    unsigned i;

    for (i = 0; i < streams->count; i++) {
        IMB_JOB *job = IMB_GET_NEXT_JOB(streams->manager);

        common(streams, job, i, data + i * stride, bytes);
        job->cipher_mode = IMB_CIPHER_CCM;
        job->hash_alg = IMB_AUTH_AES_CCM;
        job->chain_order = IMB_ORDER_HASH_CIPHER;
        job->iv = nonce;
        job->iv_len_in_bytes = 13;
        job->u.CCM.aad = associated;
        job->u.CCM.aad_len_in_bytes = associated_bytes;
        job->auth_tag_output = tags + 8 * i;
        job->auth_tag_output_len_in_bytes = 8;
        good &= submit(streams);
    }
    return good & flush(streams);
}
