#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program on a processor that this machine does not have: x86-64 with AVX-512, by default.

usage: guest.py --kernel VMLINUZ [--bochs BOCHS] [--model MODEL] [--memory MIB] [--seconds LIMIT] [--with FILE]
    PROGRAM ARGUMENT...

Bochs, an emulator of whole machines, boots Linux, whose first process runs PROGRAM and then turns the machine off.
PROGRAM, the arguments that are files and those of --with lie in / there, with the shared libraries that they need. What
it prints is printed here, and the status is its own; 255: there is none. To boot takes 10 s of processor time; what runs
then takes about a hundred times as long as here.

No test of the build uses it. It needs the packages bochsbios, isolinux, syslinux-common, busybox-static and xorriso,
the vmlinuz of a Debian kernel (out of its package, which need not be installed), and Bochs 3.0 built with

    configure --enable-x86-64 --enable-avx --enable-evex --enable-all-optimizations --with-nogui

and without three mistakes, all of which x86-64-v4 code meets: KSHIFTLW and KSHIFTRW by 15 give 0 (avx512_mask16.cc:
`count < 15`); VPSRAVQ by 64 shifts by 0 (xmm_psravq in simd_int.h: `shift > 64`); gathers with indices in zmm16 to zmm31
are refused (assign_srcs in fetchdecode32.cc: after `case BX_SRC_VSIB` has used bit 4 of `vvv`, it has to be cleared).

Objects for x86-64-v4, with the records of their runs on this machine, from the top of a source tree:

    test/object/link.py --under "test/object/guest.py --kernel VMLINUZ" cc build/runtime/libweft-rt.a include
        test/object/replay.c build/test/conform test/conform/math.weft -o --isa x86-64-v4

Code that is generated there, with hashes of its results, which are those of any other level:

    test/object/guest.py --kernel VMLINUZ --with build/backends/llvm/libweft-llvm.so build/test/conform -b
        test/conform/math.weft --shard 1/11
"""
import argparse
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

BIOS = pathlib.Path("/usr/share/bochs")
BOOT = ["/usr/lib/ISOLINUX/isolinux.bin", "/usr/lib/syslinux/modules/bios/ldlinux.c32"]
NO_STATUS = 255
START, END = "==== program", "==== status"
INIT = """#!/busybox sh
/busybox mkdir -p /tmp /proc /dev
/busybox mount -t proc none /proc
/busybox mount -t devtmpfs none /dev
/busybox mount -t tmpfs none /tmp
cd /
echo "{start}"
LD_LIBRARY_PATH=/ {command}
status=$?
echo
echo "{end} $status"
/busybox sleep 1
/busybox poweroff -f
"""
KERNEL = "console=ttyS0 quiet mitigations=off nosmp nokaslr nowatchdog tsc=reliable lpj=100000 no_timer_check panic=-1"
MACHINE = """display_library: nogui
memory: guest={memory}, host={memory}
romimage: file={bios}/BIOS-bochs-latest
vgaromimage: file={bios}/VGABIOS-lgpl-latest
boot: cdrom
ata0-master: type=cdrom, path={folder}/boot.iso, status=inserted
com1: enabled=1, mode=file, dev={folder}/serial
cpu: model={model}, ips=50000000, reset_on_triple_fault=0, ignore_bad_msrs=1
clock: sync=none, time0=local
log: {folder}/log
error: action=ignore
info: action=ignore
"""


def archive(files):
    """What the kernel unpacks into its first file system, in the format of cpio: name -> (mode, bytes)."""
    parts = []
    for number, (name, (mode, data)) in enumerate([*files.items(), ("TRAILER!!!", (0, b""))]):
        fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        parts += [head, b"\0" * (-len(head) % 4), data, b"\0" * (-len(data) % 4)]
    return b"".join(parts)


def libraries(program):
    """Shared libraries of a program, its loader among them; none of one that is linked statically."""
    listed = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return re.findall(r"(/\S+) \(0x", listed.stdout)


def contents(words, others):
    """Files of the guest, for the command `words`."""
    files = {"dev": (0o040755, b""), "lib64": (0o040755, b"")}
    paths = [path for path in [*words, *others, "/bin/busybox"] if pathlib.Path(path).is_file()]
    for path in [*paths, *(library for path in paths for library in libraries(path))]:
        name = path[1:] if path.startswith("/lib64/") else pathlib.Path(path).name
        files[name] = (0o100755, pathlib.Path(path).read_bytes())
    command = shlex.join("/" + pathlib.Path(word).name if word in paths else word for word in words)
    return files | {"init": (0o100755, INIT.format(start=START, end=END, command=command).encode())}


def make_disk(folder, kernel, files):
    disk = folder / "disk"
    disk.mkdir()
    for path in BOOT:
        shutil.copy(path, disk)
    shutil.copy(kernel, disk / "vmlinuz")
    (disk / "initrd").write_bytes(archive(files))
    (disk / "isolinux.cfg").write_text(f"DEFAULT weft\nLABEL weft\nKERNEL vmlinuz\nINITRD initrd\nAPPEND {KERNEL}\n")
    subprocess.run(["xorriso", "-as", "mkisofs", "-quiet", "-o", folder / "boot.iso", "-b", "isolinux.bin", "-c", "boot.cat",
                    "-no-emul-boot", "-boot-load-size", "4", "-boot-info-table", disk], check=True,
                   stderr=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--bochs", default="bochs")
    parser.add_argument("--model", default="corei7_skylake_x")
    parser.add_argument("--memory", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--with", dest="others", action="append", default=[])
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_disk(folder, options.kernel, contents([options.program, *options.arguments], options.others))
        (folder / "machine").write_text(MACHINE.format(folder=folder, bios=BIOS, **vars(options)))
        with open(folder / "console", "w") as console:
            try:
                subprocess.run([options.bochs, "-q", "-f", folder / "machine"], stdin=subprocess.DEVNULL, stdout=console,
                               stderr=console, timeout=options.seconds, check=False)
            except subprocess.TimeoutExpired:
                print(f"the guest is not done after {options.seconds:g} seconds")
        serial = folder / "serial"
        said = serial.read_text(errors="replace").replace("\r", "") if serial.exists() else ""
    ran = re.search(rf"^{START}\n(.*)\n{END} (\d+)$", said, re.MULTILINE | re.DOTALL)
    print(ran[1] if ran else said, end="")
    sys.exit(int(ran[2]) if ran else NO_STATUS)


if __name__ == "__main__":
    main()
