package history

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
)

// readOld returns the points of the source in a file of an earlier version: a
// bbolt database, in which the source is followed by a CRC-32C of itself and the
// list, and by the list, as JSON. Of the pages that bbolt has left behind, the one
// with the newest point counts. A file that does not exist holds none.
func readOld(path, source string) (newest []Point, err error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	for found := true; found; {
		_, content, found = bytes.Cut(content, []byte(source))
		if len(content) < 4 {
			break
		}
		var text json.RawMessage
		if json.NewDecoder(bytes.NewReader(content[4:])).Decode(&text) != nil {
			continue
		}
		if sum := crc32.Update(crc32.Checksum([]byte(source), table), table, text); binary.BigEndian.Uint32(content) != sum {
			continue
		}
		points, err := decode(text)
		if n := len(points); err == nil && n > 0 && (len(newest) == 0 || points[n-1].At.After(newest[len(newest)-1].At)) {
			newest = points
		}
	}
	if len(newest) == 0 {
		return nil, errors.New("the file of an earlier version cannot be opened, is damaged, or is another token's")
	}
	return newest, nil
}
