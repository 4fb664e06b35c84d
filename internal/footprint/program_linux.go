package footprint

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// unmapProgram takes the read-only pages of the program's file off this process. A fault maps
// sixteen pages, so the start maps most of a program of which it runs little.
func unmapProgram() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if from, size, ok := ofProgram(lines.Text(), program); ok {
			// Pages that are not written to are those of the file: the next access maps them again. An error
			// leaves them mapped.
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, size, syscall.MADV_DONTNEED)
		}
	}
}

// ofProgram reads a line of maps; ok is false unless it is a read-only mapping of the program.
func ofProgram(line, program string) (from, size uintptr, ok bool) {
	place, found := strings.CutSuffix(line, " "+program)
	fields := strings.Fields(place)
	if !found || len(fields) != 5 || fields[1] != "r-xp" && fields[1] != "r--p" {
		return 0, 0, false
	}
	low, high, _ := strings.Cut(fields[0], "-")
	start, err := strconv.ParseUint(low, 16, 64)
	end, endErr := strconv.ParseUint(high, 16, 64)
	if err != nil || endErr != nil || end <= start {
		return 0, 0, false
	}
	return uintptr(start), uintptr(end - start), true
}
