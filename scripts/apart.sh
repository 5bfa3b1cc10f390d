# Sourced by scripts that fetch from the distribution without the system noticing: packages of another suite, and the
# sources of packages. Owns apt-get with lists of its own.

# apt-get with lists of its own in a folder, whose file `sources` says where from: apt_apart FOLDER ARGUMENT...
apt_apart() {
    local folder=$1
    shift
    mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
    apt-get -qq -o APT::Sandbox::User=root -o "Dir::Etc::SourceList=$folder/sources" -o Dir::Etc::SourceParts=/dev/null \
        -o "Dir::State::Lists=$folder/lists" -o "Dir::Cache=$folder/cache" "$@"
}

# Lists the sources of the packages that this system is installed from: sources_apart FOLDER
sources_apart() {
    local index='deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)'
    apt-get indextargets --format "$index" 'Created-By: Packages' 'Origin: Debian' >"$1/sources"
    apt_apart "$1" update
}
