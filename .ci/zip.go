// Zip writes what is in the folder that is its argument to standard output, as a zip
// archive. Its bytes depend on names, contents, modes and times alone. Debian installs
// no zip of its own.
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
