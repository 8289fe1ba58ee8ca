-- Compares a device with vectors that halfulp wrote with --format testfloat: a line for each vector, with the operands and
-- the result in hexadecimal, which hread of VHDL-2008 reads. To test another device, replace multiply_add by it, and change
-- the widths of the variables to those of its columns.
--
--   -gVECTORS=FILE   the vectors
--   -gRESULTS=FILE   a file for operands and results, in the same form: halfulp vectors check compares them
library ieee;
use ieee.std_logic_1164.all;
use std.env.finish;
use std.textio.all;

entity bench is
  generic (
    VECTORS : string;
    RESULTS : string  := "results.tv";
    SHOWN   : natural := 5  -- mismatches to print
  );
end entity;

architecture test of bench is
  signal a, b, c : std_logic_vector(15 downto 0) := (others => '0');
  signal result  : std_logic_vector(15 downto 0);
begin
  device : entity work.multiply_add port map (a => a, b => b, c => c, result => result);

  process
    file vector_file   : text open read_mode is VECTORS;
    file result_file   : text open write_mode is RESULTS;
    variable from_file : line;
    variable to_file   : line;
    variable x, y, z   : std_logic_vector(15 downto 0);
    variable expected  : std_logic_vector(15 downto 0);
    variable good      : boolean;
    variable rows      : natural := 0;
    variable differing : natural := 0;
  begin
    while not endfile(vector_file) loop
      readline(vector_file, from_file);
      hread(from_file, x, good);
      assert good report "row " & integer'image(rows) & ": no operand a" severity failure;
      hread(from_file, y, good);
      assert good report "row " & integer'image(rows) & ": no operand b" severity failure;
      hread(from_file, z, good);
      assert good report "row " & integer'image(rows) & ": no operand c" severity failure;
      hread(from_file, expected, good);
      assert good report "row " & integer'image(rows) & ": no result" severity failure;
      a <= x;
      b <= y;
      c <= z;
      wait for 1 ns;
      -- An X of the device is a mismatch.
      if result /= expected then
        if differing < SHOWN then
          report "row " & integer'image(rows) & ": " & to_hstring(x) & " " & to_hstring(y) & " " & to_hstring(z)
            & " gives " & to_hstring(result) & "; expected " & to_hstring(expected) severity warning;
        end if;
        differing := differing + 1;
      end if;
      write(to_file, to_hstring(x) & " " & to_hstring(y) & " " & to_hstring(z) & " " & to_hstring(result));
      writeline(result_file, to_file);
      rows := rows + 1;
    end loop;
    assert rows > 0 report "the file has no vectors" severity failure;
    report integer'image(differing) & " of " & integer'image(rows) & " vectors differ";
    assert differing = 0 report "the device is wrong" severity failure;
    finish;
  end process;
end architecture;
