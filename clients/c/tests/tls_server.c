/* Serves TLS to one client of a Unix socket with a key of the device: SOCKET NAME CERTIFICATE. */
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "mbedtls.h"

#define MUST(what)                                                                                      \
    do {                                                                                                \
        int got = (what);                                                                               \
        if (got != 0) {                                                                                 \
            fprintf(stderr, "line %d: %s: -0x%04x\n", __LINE__, #what, (unsigned)-got);                 \
            return 1;                                                                                   \
        }                                                                                               \
    } while (0)

static int accept_one(const char *path, mbedtls_net_context *connection) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (listener < 0 || snprintf(address.sun_path, sizeof address.sun_path, "%s.new", path) < 0) return -1;
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1)) return -1;
    /* Who sees it can connect. */
    if (rename(address.sun_path, path)) return -1;
    connection->fd = accept(listener, NULL, NULL);
    return connection->fd < 0 ? -1 : 0;
}

int main(int count, char **arguments) {
    static const selvedge_template aes = {.algorithm = SELVEDGE_AES_256, .usages = SELVEDGE_ENCRYPT};
    static const unsigned char words[] = "served with a key of the device\n";
    mbedtls_net_context connection;
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
    mbedtls_ssl_config config;
    mbedtls_ssl_context ssl;
    mbedtls_x509_crt certificate;
    mbedtls_pk_context pk;
    selvedge *client;
    selvedge_key key;
    selvedge_key secret;
    int done;
    if (count != 4) return 2;
    mbedtls_net_init(&connection);
    mbedtls_entropy_init(&entropy);
    mbedtls_ctr_drbg_init(&random);
    mbedtls_ssl_config_init(&config);
    mbedtls_ssl_init(&ssl);
    mbedtls_x509_crt_init(&certificate);
    mbedtls_pk_init(&pk);
    MUST(selvedge_new(NULL, &client));
    MUST(selvedge_find(client, arguments[2], &key));
    MUST(selvedge_generate(client, &aes, &secret));
    MUST(selvedge_mbedtls_pk(&pk, client, secret) != MBEDTLS_ERR_PK_BAD_INPUT_DATA);
    MUST(selvedge_mbedtls_pk(&pk, client, key + 1000) != MBEDTLS_ERR_PK_HW_ACCEL_FAILED);
    MUST(selvedge_mbedtls_pk(&pk, client, key));
    MUST(selvedge_mbedtls_pk(&pk, client, key) != MBEDTLS_ERR_PK_BAD_INPUT_DATA);
    MUST(mbedtls_x509_crt_parse_file(&certificate, arguments[3]));
    MUST(mbedtls_pk_get_bitlen(&pk) != mbedtls_pk_get_bitlen(&certificate.pk));
    MUST(mbedtls_ctr_drbg_seed(&random, mbedtls_entropy_func, &entropy, NULL, 0));
    MUST(mbedtls_ssl_config_defaults(&config, MBEDTLS_SSL_IS_SERVER, MBEDTLS_SSL_TRANSPORT_STREAM,
                                     MBEDTLS_SSL_PRESET_DEFAULT));
    mbedtls_ssl_conf_rng(&config, mbedtls_ctr_drbg_random, &random);
    MUST(mbedtls_ssl_conf_own_cert(&config, &certificate, &pk));
    MUST(mbedtls_ssl_setup(&ssl, &config));
    MUST(accept_one(arguments[1], &connection));
    mbedtls_ssl_set_bio(&ssl, &connection, mbedtls_net_send, mbedtls_net_recv, NULL);
    MUST(mbedtls_ssl_handshake(&ssl));
    done = mbedtls_ssl_write(&ssl, words, sizeof words - 1);
    MUST(done != (int)sizeof words - 1);
    mbedtls_ssl_close_notify(&ssl);
    mbedtls_net_free(&connection);
    mbedtls_ssl_free(&ssl);
    mbedtls_ssl_config_free(&config);
    mbedtls_ctr_drbg_free(&random);
    mbedtls_entropy_free(&entropy);
    mbedtls_x509_crt_free(&certificate);
    mbedtls_pk_free(&pk);
    selvedge_free(client);
    return 0;
}
