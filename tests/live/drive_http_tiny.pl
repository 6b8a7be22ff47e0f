# Drives HTTP::Tiny, the client in Perl's own distribution.
# Reads requests and writes responses as lines of JSON, the protocol of tests.live.clients.talk.

use strict;
use warnings;
use HTTP::Tiny;
use JSON::PP;

$| = 1;
my $json = JSON::PP->new->utf8->allow_nonref;
my $client = HTTP::Tiny->new(timeout => 20);

while (my $line = <STDIN>) {
    my $request = $json->decode($line);
    my %options = (headers => $request->{headers});
    if (defined $request->{value}) {
        $options{headers}{'Content-Type'} = 'application/json';
        $options{content} = $json->encode($request->{value});
    }
    my $response = $client->request($request->{method}, $request->{url}, \%options);
    my $body = eval { $json->decode($response->{content}) };
    # HTTP::Tiny returns 599 for an error of its own. No service sent it.
    my $failed = $response->{status} == 599 ? $response->{content} : $@;
    print $json->encode($failed ? $failed : [0 + $response->{status}, $body]), "\n";
}
