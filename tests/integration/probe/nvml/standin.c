/* A stand-in for NVIDIA's libnvidia-ml.so.1, so that pynvml and the probe run unchanged on machines without a card.
 *
 * What it answers stands in the file that NVML_STANDIN names: one "key = value" a line, '#' begins a comment.
 * Keys: "init", "count", "driver", "cuda", and "<device>.<field>", where a device is "0", "1", ... or "0/2" for the
 * instance at place 2 of card 0. Values: the figure itself, "error N" for NVML's error number N, or "hang".
 * A field that is not there is answered with "not supported", as real drivers do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, UNKNOWN = 999 };
enum { LINES = 512, TEXT = 160, DEVICES = 64 };

typedef struct { char name[16]; } device_t;
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct {
    char busIdLegacy[16];
    unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} pci_t;
typedef struct {
    unsigned int pid;
    unsigned long long usedGpuMemory;
    unsigned int gpuInstanceId, computeInstanceId;
} process_t;

static char keys[LINES][TEXT], values[LINES][TEXT];
static int lines = 0;
static device_t devices[DEVICES];
static int handles = 0;

static void read_scenario(void) {
    static int done = 0;
    char line[TEXT];
    FILE *file;
    if (done) return;
    done = 1;
    file = fopen(getenv("NVML_STANDIN") ? getenv("NVML_STANDIN") : "", "r");
    while (file && lines < LINES && fgets(line, sizeof line, file)) {
        char *equals = strstr(line, " = ");
        if (line[0] == '#' || !equals) continue;
        *equals = 0;
        equals[3 + strcspn(equals + 3, "\n")] = 0;
        snprintf(keys[lines], TEXT, "%s", line);
        snprintf(values[lines], TEXT, "%s", equals + 3);
        lines++;
    }
    if (file) fclose(file);
}

/* The value of a key: NVML's status as the result, the text where it is "success". */
static int look(const char *device, const char *field, const char **text) {
    char key[TEXT];
    read_scenario();
    if (device) snprintf(key, sizeof key, "%s.%s", device, field);
    else snprintf(key, sizeof key, "%s", field);
    for (int i = 0; i < lines; i++) {
        if (strcmp(keys[i], key)) continue;
        if (!strncmp(values[i], "error ", 6)) return atoi(values[i] + 6);
        while (!strcmp(values[i], "hang")) pause();
        *text = values[i];
        return SUCCESS;
    }
    return NOT_SUPPORTED;
}

static int number(device_t *device, const char *field, unsigned int *out) {
    const char *text = 0;
    int status = look(device ? device->name : 0, field, &text);
    if (status == SUCCESS) *out = (unsigned int)strtoul(text, 0, 0);
    return status;
}

static int string(device_t *device, const char *field, char *out, unsigned int size) {
    const char *text = 0;
    int status = look(device ? device->name : 0, field, &text);
    if (status == SUCCESS) snprintf(out, size, "%s", text);
    return status;
}

static int handle(const char *name, device_t **out) {
    if (handles == DEVICES) return UNKNOWN;
    snprintf(devices[handles].name, sizeof devices[handles].name, "%s", name);
    *out = &devices[handles++];
    return SUCCESS;
}

int nvmlInitWithFlags(unsigned int flags) {
    const char *text = 0;
    int status = look(0, "init", &text);
    (void)flags;
    return status == NOT_SUPPORTED ? SUCCESS : status;
}
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int status) { (void)status; return "an error of the stand-in"; }
int nvmlSystemGetDriverVersion(char *out, unsigned int size) { return string(0, "driver", out, size); }
int nvmlSystemGetCudaDriverVersion(int *out) { return number(0, "cuda", (unsigned int *)out); }
int nvmlDeviceGetCount_v2(unsigned int *out) { return number(0, "count", out); }

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, device_t **out) {
    char name[16];
    const char *text = 0;
    int status;
    snprintf(name, sizeof name, "%u", index);
    status = look(name, "handle", &text);
    return status == NOT_SUPPORTED ? handle(name, out) : status;
}

int nvmlDeviceGetName(device_t *device, char *out, unsigned int size) { return string(device, "name", out, size); }
int nvmlDeviceGetUUID(device_t *device, char *out, unsigned int size) { return string(device, "uuid", out, size); }

int nvmlDeviceGetPciInfo_v3(device_t *device, pci_t *out) {
    memset(out, 0, sizeof *out);
    return string(device, "pci", out->busId, sizeof out->busId);
}

int nvmlDeviceGetCudaComputeCapability(device_t *device, int *major, int *minor) {
    const char *text = 0;
    int status = look(device->name, "capability", &text);
    if (status == SUCCESS && sscanf(text, "%d.%d", major, minor) != 2) return UNKNOWN;
    return status;
}

/* Total and free, in MiB. */
int nvmlDeviceGetMemoryInfo(device_t *device, memory_t *out) {
    const char *text = 0;
    int status = look(device->name, "memory", &text);
    if (status != SUCCESS) return status;
    if (sscanf(text, "%llu %llu", &out->total, &out->free) != 2) return UNKNOWN;
    out->total <<= 20;
    out->free <<= 20;
    out->used = out->total - out->free;
    return SUCCESS;
}

int nvmlDeviceGetEnforcedPowerLimit(device_t *device, unsigned int *out) { return number(device, "power_mw", out); }
int nvmlDeviceGetClockInfo(device_t *device, int type, unsigned int *out) {
    return type == 1 ? number(device, "clock", out) : INVALID_ARGUMENT;
}
int nvmlDeviceGetMaxClockInfo(device_t *device, int type, unsigned int *out) {
    return type == 1 ? number(device, "max_clock", out) : INVALID_ARGUMENT;
}

static int reasons(device_t *device, const char *field, unsigned long long *out) {
    unsigned int bits = 0;
    int status = number(device, field, &bits);
    if (status == SUCCESS) *out = bits;
    return status;
}
int nvmlDeviceGetCurrentClocksEventReasons(device_t *device, unsigned long long *out) {
    return reasons(device, "event_reasons", out);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(device_t *device, unsigned long long *out) {
    return reasons(device, "throttle_reasons", out);
}

int nvmlDeviceGetComputeRunningProcesses_v3(device_t *device, unsigned int *count, process_t *out) {
    unsigned int running = 0;
    int status = number(device, "processes", &running);
    if (status != SUCCESS) return status;
    if (running > *count || (running && !out)) {
        *count = running;
        return INSUFFICIENT_SIZE;
    }
    *count = running;
    for (unsigned int i = 0; i < running; i++) {
        process_t one = {1000 + i, 1ull << 30, 0xFFFFFFFF, 0xFFFFFFFF};
        out[i] = one;
    }
    return SUCCESS;
}

int nvmlDeviceGetMigMode(device_t *device, unsigned int *current, unsigned int *pending) {
    int status = number(device, "mig", current);
    *pending = *current;
    return status;
}
int nvmlDeviceGetMaxMigDeviceCount(device_t *device, unsigned int *out) { return number(device, "mig_places", out); }
int nvmlDeviceGetMigDeviceHandleByIndex(device_t *device, unsigned int place, device_t **out) {
    char name[16];
    const char *text = 0;
    snprintf(name, sizeof name, "%.8s/%u", device->name, place);
    return look(name, "uuid", &text) == SUCCESS ? handle(name, out) : NOT_FOUND;
}
int nvmlDeviceGetGpuInstanceId(device_t *device, unsigned int *out) { return number(device, "gpu_instance", out); }
int nvmlDeviceGetComputeInstanceId(device_t *device, unsigned int *out) {
    return number(device, "compute_instance", out);
}
