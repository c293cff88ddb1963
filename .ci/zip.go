// Zip writes the files in the folder that is its argument to standard output, as a zip archive. The archive's bytes
// depend only on the files' names, contents, modes and times. Debian installs no zip program by default.
package main

import (
	"archive/zip"
	"errors"
	"log"
	"os"
)

func main() {
	archive := zip.NewWriter(os.Stdout)
	if err := errors.Join(archive.AddFS(os.DirFS(os.Args[1])), archive.Close()); err != nil {
		log.Fatal(err)
	}
}
