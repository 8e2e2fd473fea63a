package child

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// reserve is memory that is left to others.
const reserve = 256 << 20

// freeMemory gives how many bytes may still be used: what the system has
// available, or what is left of the group's limit. Where neither can be read
// there is no limit.
func freeMemory() int64 {
	free := int64(math.MaxInt64)
	if raw, err := os.ReadFile("/proc/meminfo"); err == nil {
		if n, ok := available(raw); ok {
			free = n
		}
	}
	limit, ok1 := number("/sys/fs/cgroup/memory.max")
	used, ok2 := number("/sys/fs/cgroup/memory.current")
	if ok1 && ok2 {
		// What files hold in memory is given back when it is needed.
		cached := groupCache()
		free = min(free, limit-used+cached)
	}
	if free == math.MaxInt64 {
		return free
	}
	return max(0, free-reserve)
}

func available(meminfo []byte) (int64, bool) {
	for lines := bufio.NewScanner(bytes.NewReader(meminfo)); lines.Scan(); {
		var kb int64
		if _, err := fmt.Sscanf(lines.Text(), "MemAvailable: %d kB", &kb); err == nil {
			return kb << 10, true
		}
	}
	return 0, false
}

func groupCache() int64 {
	raw, err := os.ReadFile("/sys/fs/cgroup/memory.stat")
	if err != nil {
		return 0
	}
	var sum int64
	for line := range strings.Lines(string(raw)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if key == "inactive_file" || key == "active_file" {
			n, _ := strconv.ParseInt(value, 10, 64)
			sum += n
		}
	}
	return sum
}

func number(path string) (int64, bool) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	return n, err == nil
}
