-- A multiply-add in fixed point: 16 bits with 12 of them behind the point, rounded to nearest with halves up, saturated.
-- ../datapaths/fixed_point.mlir says the same in MLIR.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity multiply_add is
  port (
    a, b, c : in  std_logic_vector(15 downto 0);
    result  : out std_logic_vector(15 downto 0)
  );
end entity;

architecture rtl of multiply_add is
  constant HALF : signed(33 downto 0) := to_signed(2048, 34);
  signal sum     : signed(33 downto 0) := (others => '0');
  signal rounded : signed(21 downto 0) := (others => '0');
begin
  -- The product has 24 bits behind the point, and so has the sum.
  sum     <= resize(signed(a) * signed(b), 34) + shift_left(resize(signed(c), 34), 12) + HALF;
  rounded <= sum(33 downto 12);
  result  <= x"7FFF" when rounded > 32767 else
             x"8000" when rounded < -32768 else
             std_logic_vector(rounded(15 downto 0));
end architecture;
